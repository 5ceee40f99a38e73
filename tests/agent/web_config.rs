//! Pages with TLS and passwords, by the files of the Prometheus exporter toolkit.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_testbed::clock::eventually;
use railscope_testbed::prometheus::{self, Setup};

use crate::support::clock::duration_of;
use crate::support::railscope::PROGRAM;
use crate::support::require;
use crate::support::service::{QUIET, Service, certificate, curl};

const TLS: &str = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
/// Of the password "secret", and of "other"; in tests hashes are cheap.
const SECRET: &str = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";
const OTHER: &str = "$2y$05$abcdefghijklmnopqrstuuVQd15VhR/oN1H3pzUR5lME0fZO6.qRW";

fn users(hash: &str) -> String {
    format!("basic_auth_users:\n  prometheus: {hash}\n")
}

fn has_tools(test: &str) -> bool {
    // openssl knows no `--version`.
    let mut openssl = Command::new("openssl");
    require::has(test, "curl") && require::works(test, openssl.arg("version"), "openssl")
}

/// An agent with this web configuration, and the certificates server, authority and client.
fn service(web: &str) -> Service {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "server", None);
    certificate(folder.path(), "authority", None);
    certificate(folder.path(), "client", Some("authority"));
    let path = folder.path().join("web.yml");
    fs::write(&path, web).unwrap();
    Service::start(folder, &format!("web-config = {path:?}\n"))
}

/// Status and body of a page over TLS.
fn secure(service: &Service, path: &str, arguments: &[&str]) -> (String, String) {
    let authority = service.file("server.pem");
    let trust = ["--cacert", authority.to_str().unwrap()];
    let url = format!("https://{}{path}", service.address);
    curl(&[&trust[..], arguments].concat(), &url)
}

fn status(service: &Service, path: &str, arguments: &[&str]) -> String {
    secure(service, path, arguments).0
}

#[test]
fn pages_need_tls_and_a_password() {
    if !has_tools("pages_need_tls_and_a_password") {
        return;
    }
    let headers = "http_server_config:\n  headers:\n    X-Frame-Options: deny\n";
    let mut service = service(&format!("{TLS}{}{headers}", users(SECRET)));
    let (code, body) = secure(&service, "/metrics", &["--user", "prometheus:secret"]);
    assert!(code == "200", "{code} {body}");
    for wrong in ["prometheus:wrong", "root:secret", ":", "prometheus:"] {
        let (code, body) = secure(&service, "/metrics", &["--user", wrong]);
        assert_eq!((code.as_str(), body.as_str()), ("401", "a user and a password are needed\n"));
    }
    let (code, head) = secure(&service, "/report.json", &["--include"]);
    assert_eq!(code, "401");
    assert!(head.contains("Www-Authenticate: Basic realm=\"railscope\""), "{head}");
    assert!(head.contains("X-Frame-Options: deny"), "{head}");
    assert_eq!(status(&service, "/nothing", &[]), "401");
    // Probes see a status; why nothing is seen is for those with a password.
    let probe = |path| secure(&service, path, &[]);
    assert_eq!(probe("/healthz"), ("200".to_owned(), "ok\n".to_owned()));
    assert_eq!(probe("/readyz"), ("503".to_owned(), "not ready\n".to_owned()));
    eventually("the reason is there", || {
        let (code, why) = secure(&service, "/readyz", &["--user", "prometheus:secret"]);
        code == "503" && why.contains("all sources are switched off")
    });
    // Other ways in.
    let plain = curl(&[], &format!("http://{}/metrics", service.address));
    assert_eq!(plain, ("400".to_owned(), "this port speaks TLS: write https://\n".to_owned()));
    let old = ["--user", "prometheus:secret", "--tls-max", "1.1"];
    assert_eq!(status(&service, "/metrics", &old), "000");
    let log = service.stop();
    assert!(log.contains(&format!("metrics: https://{}/metrics", service.address)), "{log}");
}

#[test]
fn clients_need_a_certificate() {
    if !has_tools("clients_need_a_certificate") {
        return;
    }
    let web = format!(
        "{TLS}  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: authority.pem\n  \
         min_version: TLS13\n"
    );
    let service = service(&web);
    let file = |name| service.file(name).to_str().unwrap().to_owned();
    let (certificate, key) = (file("client.pem"), file("client.key"));
    let own = ["--cert", &certificate, "--key", &key];
    assert_eq!(status(&service, "/metrics", &own), "200");
    assert_eq!(status(&service, "/metrics", &[]), "000");
    assert_eq!(status(&service, "/healthz", &[]), "000");
    let (certificate, key) = (file("server.pem"), file("server.key"));
    assert_eq!(status(&service, "/metrics", &["--cert", &certificate, "--key", &key]), "000");
    assert_eq!(status(&service, "/metrics", &[&own[..], &["--tls-max", "1.2"]].concat()), "000");
}

#[test]
fn prometheus_scrapes_over_tls_with_a_password() {
    let test = "prometheus_scrapes_over_tls_with_a_password";
    if !has_tools(test) || !require::has(test, "prometheus") {
        return;
    }
    let service = service(&format!("{TLS}{}", users(SECRET)));
    let scrapes = |password: &str| {
        let folder = tempfile::tempdir().unwrap();
        let access = format!(
            "scheme: https\ntls_config:\n  ca_file: {}\nbasic_auth:\n  username: prometheus\n  password: {password}\n",
            service.file("server.pem").display()
        );
        let targets = [service.address];
        let setup = Setup { access: &access, ..Setup::of("1s", &targets) };
        let data_base = prometheus::start(folder.path(), setup);
        let up = || data_base.ask("up", None).first().map(|(_, value)| *value);
        eventually("it has scraped", || up().is_some());
        let has_samples = || !data_base.ask("scrape_samples_scraped > 0", None).is_empty();
        if password == "secret" {
            eventually("it has samples", has_samples);
        }
        up()
    };
    assert_eq!(scrapes("secret"), Some(1.0));
    assert_eq!(scrapes("wrong"), Some(0.0));
}

#[test]
fn changed_files_are_read_again() {
    if !has_tools("changed_files_are_read_again") {
        return;
    }
    let service = service(&format!("{TLS}{}", users(SECRET)));
    let asked = |password: &str| {
        status(&service, "/metrics", &["--user", &format!("prometheus:{password}")])
    };
    assert_eq!(asked("secret"), "200");
    fs::write(service.file("web.yml"), format!("{TLS}{}", users(OTHER))).unwrap();
    eventually("the new password is right", || asked("other") == "200");
    assert_eq!(asked("secret"), "401");
    // A mistake is refused; what was there stays.
    fs::write(service.file("web.yml"), "tls_server_config:\n  cipher_suites: []\n").unwrap();
    eventually("it is refused", || service.log().contains("stay as they were"));
    let log = service.log();
    assert!(log.contains("unknown field `cipher_suites`"), "{log}");
    assert_eq!(asked("other"), "200");
    // A certificate that is renewed: first it does not fit the key.
    let old = fs::read(service.file("server.pem")).unwrap();
    fs::write(service.file("web.yml"), format!("{TLS}{}", users(OTHER))).unwrap();
    let new = tempfile::tempdir().unwrap();
    certificate(new.path(), "server", None);
    fs::rename(new.path().join("server.pem"), service.file("server.pem")).unwrap();
    eventually("it does not fit", || {
        service.log().contains("server.pem: keys may not be consistent")
    });
    assert_eq!(asked("other"), "000", "curl trusts the new one only");
    fs::rename(new.path().join("server.key"), service.file("server.key")).unwrap();
    eventually("the new certificate is used", || asked("other") == "200");
    assert_ne!(fs::read(service.file("server.pem")).unwrap(), old);
}

/// Wrong passwords cost a tenth of a core, and those with a right one notice nothing.
#[test]
fn a_flood_of_wrong_passwords_is_bounded() {
    if !has_tools("a_flood_of_wrong_passwords_is_bounded") {
        return;
    }
    // Cost 11: some 0.1 s.
    let hash = "$2y$11$abcdefghijklmnopqrstuuViuGI07N4McP9Kl.tD6XMEzyuvcY8LG";
    let service = service(&users(hash));
    let ask = |credentials: &str| {
        let mut stream = TcpStream::connect(service.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let request =
            format!("GET /metrics HTTP/1.1\r\nAuthorization: Basic {credentials}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split(' ').nth(1)?.parse::<u16>().ok()
    };
    // prometheus:secret
    let right = "cHJvbWV0aGV1czpzZWNyZXQ=";
    assert_eq!(ask(right), Some(200));
    let (is_over, tries, verified) =
        (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut used = 0.0;
    let took = thread::scope(|scope| {
        for worker in 0..8_u32 {
            let (ask, is_over, tries, verified) = (&ask, &is_over, &tries, &verified);
            scope.spawn(move || {
                for number in 0_u32.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let digits = format!("{worker:04}{number:08}");
                    // "prometheus:", and what these digits are in base 64.
                    let outcome = ask(&format!("cHJvbWV0aGV1czow{digits}"));
                    tries.fetch_add(1, Ordering::Relaxed);
                    verified.fetch_add(usize::from(outcome == Some(401)), Ordering::Relaxed);
                    assert_ne!(outcome, Some(200));
                }
            });
        }
        let begun = service.cpu_time();
        let took = duration_of(|| {
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(400));
                assert_eq!(ask(right), Some(200));
            }
        });
        used = service.cpu_time() - begun;
        is_over.store(true, Ordering::Relaxed);
        took
    });
    let share = used / took.as_secs_f64();
    let (tries, verified) = (tries.into_inner(), verified.into_inner());
    println!("{tries} tries in {took:?}, {verified} verified, {share:.2} of a core");
    assert!(tries > 20 * verified, "{tries} tries, {verified} verified");
    assert!(share < 0.6, "{share} of a core");
}

#[test]
fn mistakes_are_named_at_the_start_and_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("collector.toml");
    let web = folder.path().join("web.yml");
    fs::write(
        &settings,
        format!("{QUIET}[prometheus]\nlisten = \"127.0.0.1:0\"\nweb-config = {web:?}\n"),
    )
    .unwrap();
    let run = |check: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("agent").arg("--config").arg(&settings).args(check);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let missing = run(&[]);
    assert!(missing.0 == Some(2) && missing.1.contains("web.yml: No such file"), "{missing:?}");
    for (text, said) in [
        (TLS, "server.pem: No such file"),
        ("tls_server_config:\n  cert_file: a\n", "tls_server_config: key_file is missing"),
        ("basic_auth_users:\n  a: b\n", "basic_auth_users.a: not a bcrypt hash"),
        ("tls_server_config:\n  curve_preferences: []\n", "unknown field `curve_preferences`"),
        ("http_server_config:\n  headers:\n    Server: x\n", "headers has no key `Server`"),
        ("a: [\n", "web.yml: "),
    ] {
        fs::write(&web, text).unwrap();
        let (code, stderr) = run(&[]);
        assert!(code == Some(2) && stderr.contains(said), "{text}: {code:?} {stderr}");
        let (code, stderr) = run(&["--check"]);
        assert!(code == Some(1) && stderr.contains(said), "{text}: {code:?} {stderr}");
    }
}

/// What the log says at the start of an agent that others reach.
#[test]
fn the_log_says_who_can_read() {
    if !has_tools("the_log_says_who_can_read") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "server", None);
    let (web, log) = (folder.path().join("web.yml"), folder.path().join("log"));
    let said = |text: &str| {
        fs::write(&web, text).unwrap();
        let mut agent = Command::new(PROGRAM);
        agent.args(["agent", "--set", "prometheus.listen=\"0.0.0.0:0\""]);
        agent.args(["--set", &format!("prometheus.web-config={web:?}")]);
        for source in ["packets", "counters", "calls", "processes"] {
            agent.args(["--set", &format!("sources.{source}=false")]);
        }
        let mut agent = agent.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let read = || fs::read_to_string(&log).unwrap();
        eventually("the agent listens", || read().contains("metrics: http"));
        kill(Pid::from_raw(i32::try_from(agent.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert!(agent.wait().unwrap().success(), "{}", read());
        (read().contains("no authentication"), read().contains("passwords cross the network"))
    };
    assert_eq!(said(""), (true, false));
    assert_eq!(said(TLS), (true, false));
    assert_eq!(said(&users(SECRET)), (false, true));
    assert_eq!(said(&format!("{TLS}{}", users(SECRET))), (false, false));
    let clients = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: server.pem\n";
    assert_eq!(said(&format!("{TLS}{clients}")), (false, false));
}
