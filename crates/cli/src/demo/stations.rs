//! The demo's database: measuring stations on lakes, and their measurements. The same documents
//! come out every time.

use super::random::Random;
use std::fmt::Write;

/// Name of the database.
pub(crate) const NAME: &str = "stations";
/// Readings that are made, besides the stations and the design document.
const READINGS: usize = 4_000;

/// Lake, station, latitude and longitude in thousandths of a degree, depth in metres.
const STATIONS: &[(&str, &str, i32, i32, i32)] = &[
    ("Plön", "Prinzeninsel", 54_142, 10_409, 56),
    ("Plön", "Bosau", 54_105, 10_424, 31),
    ("Müritz", "Waren", 53_512, 12_680, 28),
    ("Müritz", "Rechlin", 53_340, 12_722, 19),
    ("Schwerin", "Kaninchenwerder", 53_597, 11_438, 45),
    ("Schaal", "Zarrentin", 53_560, 10_925, 71),
    ("Arend", "Schrampe", 52_890, 11_455, 49),
    ("Stechlin", "Neuglobsow", 53_143, 13_033, 69),
    ("Edersee", "Rehbach", 51_181, 9_037, 41),
    ("Laach", "Nordufer", 50_418, 7_269, 53),
    ("Holzmaar", "Mitte", 50_119, 6_879, 19),
    ("Meerfeld", "Mitte", 50_101, 6_757, 17),
    ("Constance", "Überlingen", 47_760, 9_160, 147),
    ("Constance", "Bregenz", 47_505, 9_729, 61),
    ("Ammer", "Herrsching", 48_000, 11_160, 81),
    ("Starnberg", "Tutzing", 47_905, 11_297, 127),
];

/// Seconds between two readings of one station.
const HOURS_BETWEEN: usize = 6;

/// The design document: one map, and one map with a built-in reduce.
pub(crate) const DESIGN: &str = r#"{"_id":"_design/lakes","language":"javascript","views":{
"by_station":{"map":"function (doc) {\n  if (doc.type === 'reading') emit([doc.station, doc.at], doc.level_m);\n}"},
"temperature":{"map":"function (doc) {\n  if (doc.type === 'reading') doc.profile.forEach(function (p) {\n    emit([doc.lake, p.depth_m], p.celsius);\n  });\n}","reduce":"_stats"}}}"#;

/// All documents but the design document, as JSON, stations first.
pub(crate) fn documents() -> Vec<String> {
    let mut random = Random::new(7);
    let stations = STATIONS
        .iter()
        .enumerate()
        .map(|(i, station)| describe(i, station));
    let mut documents: Vec<String> = stations.collect();
    for number in 0..READINGS {
        documents.push(reading(number, &mut random));
    }
    documents
}

fn describe(index: usize, station: &(&str, &str, i32, i32, i32)) -> String {
    let (lake, name, latitude, longitude, depth) = station;
    format!(
        "{{\"_id\":\"station:{index:02}\",\"type\":\"station\",\"lake\":\"{lake}\",\"name\":\"{name}\",\
         \"position\":[{}.{:03},{}.{:03}],\"depth_m\":{depth},\"sensors\":[\"level\",\"thermistor chain\",\
         \"oxygen\"],\"since\":{}}}",
        latitude / 1000,
        latitude % 1000,
        longitude / 1000,
        longitude % 1000,
        1994 + index
    )
}

fn reading(number: usize, random: &mut Random) -> String {
    let index = number % STATIONS.len();
    let (lake, _, _, _, deepest) = STATIONS[index];
    let hour = number / STATIONS.len() * HOURS_BETWEEN;
    let (day, hour) = (hour / 24, hour % 24);
    let (month, day) = (day / 28 + 3, day % 28 + 1);
    let at = format!("2024-{month:02}-{day:02}T{hour:02}:00:00Z");
    let level = 2_000 + random.below(900);
    let mut text = format!(
        "{{\"_id\":\"reading:{at}:{index:02}\",\"type\":\"reading\",\"station\":\"station:{index:02}\",\
         \"lake\":\"{lake}\",\"at\":\"{at}\",\"level_m\":{}.{:03},\"profile\":[",
        level / 1000,
        level % 1000
    );
    let surface = 40 + 20 * month + random.below(30) as usize;
    for (step, depth) in [0, 5, 10, 20, 40].into_iter().enumerate() {
        if depth > deepest {
            break;
        }
        let celsius = surface.saturating_sub(step * 22).max(41) + random.below(4) as usize;
        let oxygen = 118 - 9 * step + random.below(8) as usize;
        let comma = if step == 0 { "" } else { "," };
        // Writing into a string does not fail.
        let _ = write!(
            text,
            "{comma}{{\"depth_m\":{depth},\"celsius\":{}.{},\"oxygen_mg_l\":{}.{}}}",
            celsius / 10,
            celsius % 10,
            oxygen / 10,
            oxygen % 10
        );
    }
    text.push(']');
    if random.below(12) == 0 {
        let notes = [
            "ice at the shore",
            "gauge cleaned",
            "sensor swapped",
            "wind from the west",
        ];
        let _ = write!(text, ",\"note\":\"{}\"", notes[random.below(4) as usize]);
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_json_with_an_id_of_its_own() {
        let documents = documents();
        assert_eq!(documents.len(), STATIONS.len() + READINGS);
        let mut ids: Vec<String> = documents
            .iter()
            .map(|text| {
                let value = varve_json::parse(text.as_bytes()).unwrap();
                value
                    .get("_id")
                    .and_then(|id| id.as_str())
                    .unwrap()
                    .to_owned()
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), documents.len());
        let design = varve_json::parse(DESIGN.as_bytes()).unwrap();
        let views = design
            .get("views")
            .and_then(|views| views.as_object())
            .unwrap();
        assert_eq!(views.len(), 2);
        assert_eq!(super::documents(), documents, "the same every time");
    }
}
