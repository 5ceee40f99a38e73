//! Lines of counter files: JSON objects, or CSV with one column per counter or one line per value.
//!
//! Values are cumulative, as in sysfs and `ethtool -S`. A line has a time (`time_ns` since the Unix
//! epoch, or `time` in RFC 3339) and identifies its NIC: `host`, `device` (`mlx5_0`), `netdev`,
//! `address`, `port`; one of the first four is required. `driver` (`bnxt_en`) resolves names that
//! several vendors use. JSON lines may also have the port's link (`state`, `rate_bps`) and what the
//! NIC is (`model`, `firmware`, `mtu`, `link_layer`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

use crate::model::counter::{CounterSample, NicPlace, NicSetup, PortLink, PortState};
use crate::model::time::Timestamp;

/// The columns of a CSV file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    columns: Vec<String>,
}

/// Most columns read: a NIC has a few hundred counters.
const COLUMNS: usize = 4096;

#[derive(Deserialize)]
struct JsonLine<'a> {
    time_ns: Option<u64>,
    #[serde(borrow)]
    time: Option<Cow<'a, str>>,
    #[serde(borrow)]
    host: Option<Cow<'a, str>>,
    #[serde(borrow)]
    device: Option<Cow<'a, str>>,
    #[serde(borrow)]
    netdev: Option<Cow<'a, str>>,
    address: Option<IpAddr>,
    port: Option<u32>,
    #[serde(borrow)]
    driver: Option<Cow<'a, str>>,
    #[serde(borrow)]
    state: Option<Cow<'a, str>>,
    rate_bps: Option<u64>,
    model: Option<String>,
    firmware: Option<String>,
    mtu: Option<u32>,
    link_layer: Option<String>,
    #[serde(borrow)]
    counters: BTreeMap<Cow<'a, str>, u64>,
}

/// The parsed part of a line.
#[derive(Default)]
struct Fields<'a> {
    time: Option<Timestamp>,
    place: NicPlace<'a>,
    driver: Option<Cow<'a, str>>,
    link: Option<PortLink>,
    setup: Option<NicSetup>,
    values: Vec<(Cow<'a, str>, u64)>,
}

/// The sample in a JSON line, if there is one.
#[must_use]
pub fn of_json(line: &str) -> Option<CounterSample<'_>> {
    let read: JsonLine<'_> = serde_json::from_str(line).ok()?;
    let JsonLine { time_ns, time, host, device, netdev, address, port, driver, .. } = read;
    let state = read.state.as_deref().and_then(PortState::from_name);
    let link = state.map(|state| PortLink { state, rate_bps: read.rate_bps });
    let JsonLine { model, firmware, mtu, link_layer, .. } = read;
    let setup = NicSetup { model, firmware, mtu, link_layer };
    let setup = (setup != NicSetup::default()).then_some(setup);
    let time = time_ns.map(Timestamp::from_nanos).or_else(|| time.as_deref().and_then(read_time));
    let place = NicPlace { host, device, netdev, address, port };
    let values = read.counters.into_iter().collect();
    Fields { time, place, driver, link, setup, values }.into_sample()
}

/// The sample in a CSV line with these columns, if there is one.
#[must_use]
pub fn of_csv<'a>(header: &Header, line: &'a str) -> Option<CounterSample<'a>> {
    let mut read = Fields::default();
    let mut name = None;
    for (column, field) in header.columns.iter().zip(fields(line)) {
        if field.is_empty() {
            continue;
        }
        let place = &mut read.place;
        match column.as_str() {
            "time_ns" => read.time = Some(Timestamp::from_nanos(field.parse().ok()?)),
            "time" => read.time = Some(read_time(field)?),
            "host" => place.host = Some(field.into()),
            "device" => place.device = Some(field.into()),
            "netdev" => place.netdev = Some(field.into()),
            "address" => place.address = Some(field.parse().ok()?),
            "port" => place.port = Some(field.parse().ok()?),
            "driver" => read.driver = Some(field.into()),
            "name" => name = Some(field),
            "value" => read.values.push((Cow::Borrowed(name?), field.parse().ok()?)),
            counter => {
                read.values.push((Cow::Owned(counter.to_owned()), field.parse().ok()?));
            }
        }
    }
    read.into_sample()
}

impl<'a> Fields<'a> {
    fn into_sample(self) -> Option<CounterSample<'a>> {
        let Self { time, place, driver, link, setup, values } = self;
        let NicPlace { host, device, netdev, address, .. } = &place;
        let is_named = host.is_some() || device.is_some() || netdev.is_some() || address.is_some();
        let is_whole = is_named && !values.is_empty();
        let time = time.filter(|_| is_whole)?;
        let (addresses, setup) = (Vec::new(), setup.map(Cow::Owned));
        Some(CounterSample { time, place, driver, addresses, link, setup, values })
    }
}

impl Header {
    /// The columns, if this is a header line: one of them is the time.
    #[must_use]
    pub fn from_line(line: &str) -> Option<Self> {
        let columns: Vec<String> = fields(line).take(COLUMNS).map(str::to_owned).collect();
        let has_time = columns.iter().any(|column| column == "time_ns" || column == "time");
        let value = columns.iter().position(|column| column == "value");
        let name = columns.iter().position(|column| column == "name");
        // In the long format, the value follows a name.
        let is_ordered = value.is_none() == name.is_none() && name <= value;
        (has_time && is_ordered).then_some(Self { columns })
    }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.trim_end().split(',').map(|field| field.trim().trim_matches('"'))
}

fn read_time(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_nanos(u64::try_from(time.as_nanosecond()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ways_to_write_the_same_sample() {
        let json = r#"{"time_ns":1795190840147452590,"host":"host3","device":"mlx5_0",
            "address":"10.0.0.4","port":1,"counters":{"np_cnp_sent":12,"rx_prio3_pause":5}}"#;
        let from_json = of_json(json).unwrap();
        let wide = Header::from_line("time,host,device,address,port,np_cnp_sent,rx_prio3_pause\n")
            .unwrap();
        let line = "2026-11-20T17:27:20.147452590Z,host3,mlx5_0,10.0.0.4,1,12,5\n";
        let from_csv = of_csv(&wide, line).unwrap();
        let values = [("np_cnp_sent".into(), 12), ("rx_prio3_pause".into(), 5)];
        assert_eq!(from_json.values, values);
        assert_eq!(from_csv.values, values);
        assert_eq!(from_json.place, from_csv.place);
        let long = Header::from_line("time_ns,device,name,value").unwrap();
        let sample = of_csv(&long, "1795190840147452590,mlx5_0,np_cnp_sent,12").unwrap();
        assert_eq!(sample.values, [("np_cnp_sent".into(), 12)]);
        assert_eq!(sample.time, from_json.time);
    }

    #[test]
    fn json_may_have_link_and_setup() {
        let line = r#"{"time_ns":1,"device":"mlx5_0","state":"active","rate_bps":400000000000,
            "firmware":"28.39.1002","mtu":9000,"counters":{"np_cnp_sent":12}}"#;
        let sample = of_json(line).unwrap();
        let link = PortLink { state: PortState::Active, rate_bps: Some(400_000_000_000) };
        assert_eq!(sample.link, Some(link));
        let setup = sample.setup.unwrap();
        assert_eq!((setup.firmware.as_deref(), setup.mtu), (Some("28.39.1002"), Some(9000)));
    }

    #[test]
    fn lines_that_say_too_little_are_none() {
        let header = Header::from_line("time_ns,device,np_cnp_sent").unwrap();
        for line in ["", "1,,12", ",mlx5_0,12", "1,mlx5_0,-3", "x,mlx5_0,12", "1,mlx5_0"] {
            assert_eq!(of_csv(&header, line), None, "{line}");
        }
        for line in ["{}", "[1]", r#"{"time_ns":1,"counters":{"a":1}}"#, "{\"time_ns\":1,"] {
            assert_eq!(of_json(line), None, "{line}");
        }
        for line in ["device,np_cnp_sent", "time_ns,device,value", "time_ns,value,name"] {
            assert_eq!(Header::from_line(line), None, "{line}");
        }
    }
}
