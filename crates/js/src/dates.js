// Runs before `prelude.js`: dates know no time zone but UTC, so that a function says the same wherever
// it runs. A time that is written without a zone is one of UTC.
(function (global) {
    'use strict';
    const Native = global.Date;
    const { prototype, parse: parseNative, UTC } = Native;
    const { apply, construct } = Reflect;
    const { isNaN } = Number;
    const text = String;

    const ZONE = /\b(?:UTC?|GMT|[ECMP][SD]T)\b|\dZ\s*$|\d:\d\d.*[+-]\d/i;
    const ISO_DATE = /^\s*[+-]?\d{4,6}(?:-\d\d(?:-\d\d)?)?\s*$/;
    const ISO_TIME = /^\s*[+-]?\d{4,6}-\d\d-\d\dT/;

    const local = ['FullYear', 'Month', 'Date', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'];
    const native = {};
    for (const part of local) native[part] = prototype['get' + part];

    function parse(given) {
        const string = text(given);
        if (ZONE.test(string) || ISO_DATE.test(string)) return parseNative(string);
        const utc = parseNative(string + (ISO_TIME.test(string) ? 'Z' : ' GMT'));
        if (!isNaN(utc)) return utc;
        // What cannot be read with a zone behind it: the same numbers, read as those of UTC.
        const date = new Native(parseNative(string));
        return UTC(...local.map((part) => apply(native[part], date, [])));
    }

    function valueOf(given) {
        if (typeof given !== 'object' || given === null || given instanceof Native) return given;
        const value = given.valueOf();
        return typeof value === 'object' ? text(value) : value;
    }

    function timeOf(given) {
        if (given.length > 1) return [UTC(...given)];
        const value = valueOf(given[0]);
        return [typeof value === 'string' ? parse(value) : value];
    }

    function define(object, members) {
        for (const name of Object.keys(members)) {
            const value = members[name];
            Object.defineProperty(object, name, { value, writable: true, configurable: true });
        }
    }

    for (const part of [...local, 'Day']) {
        define(prototype, { ['get' + part]: prototype['getUTC' + part] });
        if (part !== 'Day') define(prototype, { ['set' + part]: prototype['setUTC' + part] });
    }

    const { getTime, getUTCFullYear, setUTCFullYear, toUTCString } = prototype;

    // Of `Thu, 01 Jan 1970 00:00:00 GMT`: day of the week, day, month, year, time.
    function written(date, form) {
        const whole = apply(toUTCString, date, []);
        if (isNaN(apply(getTime, date, []))) return whole;
        const [week, day, month, year, time] = whole.split(' ');
        return form({ week: week.slice(0, 3), day, month, year, time });
    }

    const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
    const two = (number) => text(number).padStart(2, '0');
    const onDate = ({ week, day, month, year }) => `${week} ${month} ${day} ${year}`;
    const atTime = ({ time }) => `${time} GMT+0000`;
    const shortDate = ({ day, month, year }) => `${two(MONTHS.indexOf(month) / 3 + 1)}/${day}/${year}`;
    function shortTime({ time }) {
        const hour = Number(time.slice(0, 2));
        return `${two(hour % 12 || 12)}${time.slice(2)} ${hour < 12 ? 'AM' : 'PM'}`;
    }

    define(prototype, {
        getTimezoneOffset() {
            return apply(getTime, this, []) * 0;
        },
        getYear() {
            return apply(getUTCFullYear, this, []) - 1900;
        },
        setYear(year) {
            const given = Number(year);
            const full = given >= 0 && given < 100 ? 1900 + Math.trunc(given) : given;
            return apply(setUTCFullYear, this, [full]);
        },
        toString() {
            return written(this, (parts) => `${onDate(parts)} ${atTime(parts)}`);
        },
        toDateString() {
            return written(this, onDate);
        },
        toTimeString() {
            return written(this, atTime);
        },
        toLocaleString() {
            return written(this, (parts) => `${shortDate(parts)}, ${shortTime(parts)}`);
        },
        toLocaleDateString() {
            return written(this, shortDate);
        },
        toLocaleTimeString() {
            return written(this, shortTime);
        },
    });
    define(Native, { parse });

    const InUtc = new Proxy(Native, {
        apply() {
            return new Native().toString();
        },
        construct(target, given, newTarget) {
            return construct(target, given.length === 0 ? [] : timeOf(given), newTarget);
        },
    });
    define(prototype, { constructor: InUtc });
    define(global, { Date: InUtc });
})(globalThis);
