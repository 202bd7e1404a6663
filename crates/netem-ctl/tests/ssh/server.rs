//! An sshd of our own on this machine, with keys made for the test.

use std::fs;
use std::io::Write;
use std::iter;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netem_ctl::{Ssh, SshOptions};
use tcpexp_testkit::{find_program, has_programs};
use tempfile::TempDir;

/// A running sshd, and a client configuration that knows it as `rtr`.
pub(crate) struct Server {
    folder: TempDir,
    process: Child,
}

/// Peculiarity of a server, or of the client's knowledge of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Odd {
    Nothing,
    /// The client knows another key.
    OtherKey,
    /// The client knows no key.
    Unknown,
    /// The server does not know the user's key.
    Denied,
    /// The session has no root and no sudo.
    Powerless,
    /// The login prints text without a line end.
    Talkative,
    /// The login succeeds and runs no command.
    Idle,
}

impl Server {
    /// `None` where there is no sshd; the test is then skipped.
    pub(crate) fn start(odd: Odd) -> Option<Self> {
        if !has_programs(&["ssh", "ssh-keygen", "sshd"]) {
            return None;
        }
        let sshd = find_program("sshd")?;
        // Another test may take the free port first.
        Some(
            iter::repeat_with(|| Self::begin(&sshd, odd))
                .find_map(|server| server)
                .unwrap(),
        )
    }

    /// Starts a server on a free port; `None` if the port was taken meanwhile.
    fn begin(sshd: &Path, odd: Odd) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["host", "user", "other"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
                .arg(at(name))
                .status();
            assert!(made.unwrap().success());
        }
        let port = free_port();
        let public = |name: &str| fs::read_to_string(at(&format!("{name}.pub"))).unwrap();
        let accepted = if odd == Odd::Denied { "other" } else { "user" };
        fs::write(at("authorized"), public(accepted)).unwrap();
        let known = match odd {
            Odd::Unknown => String::new(),
            Odd::OtherKey => public("other"),
            _ => public("host"),
        };
        let known = known.lines().fold(String::new(), |all, key| {
            all + &format!("[127.0.0.1]:{port} {key}\n")
        });
        fs::write(at("known"), known).unwrap();
        let force = match odd {
            Odd::Powerless => powerless(folder.path()).display().to_string(),
            Odd::Talkative => {
                "printf Welcome!; printf Mail. >&2; eval \"$SSH_ORIGINAL_COMMAND\"".to_owned()
            }
            Odd::Idle => "exit 0".to_owned(),
            _ => "none".to_owned(),
        };
        // The user's start-up files may print what no test expects.
        let home = folder.path().display();
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\n\
             StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PidFile none\nSetEnv HOME={home}\nForceCommand {force}\n",
            at("host").display(),
            at("authorized").display()
        );
        fs::write(at("sshd_config"), server).unwrap();
        fs::write(at("config"), client(folder.path(), port)).unwrap();
        // sshd as root wants this folder, which its service would make.
        let _ = fs::create_dir_all("/run/sshd");
        let process = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(at("sshd_config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(at("log")).unwrap())
            .spawn()
            .unwrap();
        let server = Self { folder, process };
        server.listens().then_some(server)
    }

    /// Waits until the server listens; false if another process has its port.
    fn listens(&self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
            if log.contains("Server listening on") {
                return true;
            }
            if log.contains("Address already in use") {
                return false;
            }
            assert!(Instant::now() < deadline, "sshd does not listen: {log}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The client configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    /// A folder that the test may use.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn ssh(&self) -> Ssh {
        reach(&self.config(), Duration::from_secs(20))
    }

    /// A runner whose connection ends one second after its last use.
    pub(crate) fn impatient_ssh(&self) -> Ssh {
        let options = SshOptions {
            config: Some(self.config()),
            idle: Duration::from_secs(1),
            ..SshOptions::default()
        };
        Ssh::new("rtr".parse().unwrap(), options).unwrap()
    }

    /// Number of logins so far.
    pub(crate) fn logins(&self) -> usize {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.matches("Accepted publickey").count()
    }

    /// Number of connections that are open.
    pub(crate) fn connections(&self) -> usize {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        self.logins() - log.matches("Disconnected from user").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn reach(config: &Path, patience: Duration) -> Ssh {
    let options = SshOptions {
        config: Some(config.to_owned()),
        patience,
        ..SshOptions::default()
    };
    Ssh::new("rtr".parse().unwrap(), options).unwrap()
}

/// Returns a client configuration for the server at `port`.
pub(crate) fn client(folder: &Path, port: u16) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    format!(
        "Host rtr\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n \
         UserKnownHostsFile {}\n GlobalKnownHostsFile none\n",
        at("user"),
        at("known")
    )
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A program to run each command as a user who is not root and finds no sudo.
fn powerless(folder: &Path) -> PathBuf {
    let tools = folder.join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["id", "timeout", "sh", "ls"] {
        let target = find_program(tool).unwrap();
        std::os::unix::fs::symlink(target, tools.join(tool)).unwrap();
    }
    let is_root = rustix::process::geteuid().is_root();
    let drop = match find_program("setpriv") {
        Some(setpriv) if is_root => format!(
            "{} --reuid=65534 --regid=65534 --clear-groups ",
            setpriv.display()
        ),
        _ => String::new(),
    };
    let program = folder.join("powerless");
    let text = format!(
        "#!/bin/sh\nPATH={}\nexport PATH\nexec {drop}/bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
        tools.display()
    );
    fs::File::create(&program)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    for path in [folder, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    program
}
