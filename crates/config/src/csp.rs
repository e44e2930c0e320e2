//! `[csp]`: what browsers may do with pages of the server that hold what others have sent.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};

/// Fauxton's pages run their own scripts only. Its components carry their styles and some pictures with them, its editor
/// makes the script of its worker, and its page of news frames the blog of CouchDB.
const UTILS: &str = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; \
                     worker-src 'self' blob:; frame-src https://blog.couchdb.org; object-src 'none'; \
                     base-uri 'none'; form-action 'self'; frame-ancestors 'self';";
const SANDBOX: &str = "sandbox";

/// Values of `Content-Security-Policy`; `None` where the header is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csp {
    /// `utils_enable` and `utils_header_value`: of the console at `/_utils/`.
    pub utils: Option<String>,
    /// `attachments_enable` and `attachments_header_value`; default `sandbox`.
    pub attachments: Option<String>,
    /// `showlist_enable` and `showlist_header_value`: of what functions of design documents answer; default `sandbox`.
    pub showlist: Option<String>,
    /// `report_only`: browsers report what the policies forbid and allow it; default false.
    pub report_only: bool,
}

impl Default for Csp {
    fn default() -> Csp {
        Csp {
            utils: Some(UTILS.to_owned()),
            attachments: Some(SANDBOX.to_owned()),
            showlist: Some(SANDBOX.to_owned()),
            report_only: false,
        }
    }
}

impl Csp {
    /// Name, in lower case, and value of the header with the policy for the console.
    pub fn for_utils(&self) -> Option<(&'static str, &str)> {
        self.header(self.utils.as_deref())
    }

    /// The same for attachments.
    pub fn for_attachments(&self) -> Option<(&'static str, &str)> {
        self.header(self.attachments.as_deref())
    }

    /// The same for what functions of design documents answer.
    pub fn for_functions(&self) -> Option<(&'static str, &str)> {
        self.header(self.showlist.as_deref())
    }

    fn header<'p>(&self, policy: Option<&'p str>) -> Option<(&'static str, &'p str)> {
        let name = match self.report_only {
            true => "content-security-policy-report-only",
            false => "content-security-policy",
        };
        Some((name, policy?))
    }
}

/// # Errors
/// A value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<Csp, ConfigError> {
    let policy = |part: &str, usual: Option<String>| {
        let enabled = or(
            ini.get("csp", &format!("{part}_enable")),
            Setting::boolean,
            true,
        )?;
        let value = or(
            ini.get("csp", &format!("{part}_header_value")),
            |setting| setting.header_value().map(Some),
            usual,
        )?;
        Ok(value.filter(|_| enabled))
    };
    let usual = Csp::default();
    Ok(Csp {
        utils: policy("utils", usual.utils)?,
        attachments: policy("attachments", usual.attachments)?,
        showlist: policy("showlist", usual.showlist)?,
        report_only: or(
            ini.get("csp", "report_only"),
            Setting::boolean,
            usual.report_only,
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn csp(text: &str) -> Result<Csp, String> {
        let ini = Ini::parse(Path::new("varve.ini"), &format!("[csp]\n{text}")).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn policies_are_on_until_they_are_switched_off_one_by_one() {
        let usual = Csp::default();
        assert_eq!(csp("").as_ref(), Ok(&usual));
        let sandbox = Some(("content-security-policy", "sandbox"));
        assert_eq!(usual.for_attachments(), sandbox);
        assert_eq!(usual.for_functions(), sandbox);
        let off = csp("utils_enable = false\nshowlist_enable = no").unwrap();
        assert_eq!((off.for_utils(), off.for_functions()), (None, None));
        assert_eq!(off.for_attachments(), sandbox);
        let policy = "default-src 'self'; sandbox";
        let other = format!("attachments_header_value = {policy}\nreport_only = true");
        let other = csp(&other).unwrap();
        let reported = "content-security-policy-report-only";
        assert_eq!(other.for_attachments(), Some((reported, policy)));
        assert_eq!(other.for_functions(), Some((reported, "sandbox")));
        // A value does not switch on what is off.
        let both = csp("showlist_header_value = sandbox\nshowlist_enable = false").unwrap();
        assert_eq!(both.for_functions(), None);
    }

    #[test]
    fn values_that_no_header_can_have_are_refused() {
        let refused = csp("utils_header_value = \u{e9}").unwrap_err();
        let words = "varve.ini:2: csp.utils_header_value must be printable ASCII, not \"\u{e9}\"";
        assert_eq!(refused, words);
        assert!(csp("report_only = perhaps").is_err());
        // As everywhere, an empty value is none.
        assert_eq!(csp("utils_header_value ="), Ok(Csp::default()));
    }
}
