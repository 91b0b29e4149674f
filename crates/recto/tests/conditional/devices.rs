//! Device nodes below a root.

use rustix::fs::{CWD, Dev, FileType, Mode, makedev, mknodat};

use crate::sandbox_fixture::Expected::NotAFile;
use crate::sandbox_fixture::{SandboxFixture, opens, rows};

/// Name, kind, and major and minor number.
type Device = (&'static str, FileType, (u32, u32));

const DEVICES: [Device; 5] = [
    ("null", FileType::CharacterDevice, (1, 3)),
    ("zero", FileType::CharacterDevice, (1, 5)),
    ("tty", FileType::CharacterDevice, (5, 0)),
    ("nobody-has-this", FileType::CharacterDevice, (4000, 77)),
    ("loop", FileType::BlockDevice, (7, 0)),
];

fn make(fixture: &SandboxFixture, name: &str, device: Device) -> rustix::io::Result<()> {
    let (_, kind, (major, minor)) = device;
    let number: Dev = makedev(major, minor);
    mknodat(CWD, fixture.path(format!("root/{name}")), kind, Mode::from_raw_mode(0o666), number)
}

/// Whether all the devices can be made.
pub fn can_be_made() -> bool {
    let fixture = SandboxFixture::new();
    DEVICES.iter().all(|device| make(&fixture, device.0, *device).is_ok())
}

pub fn devices_are_rejected_without_blocking() {
    let fixture = SandboxFixture::new();
    let mut table = rows([("root/to-null", NotAFile), ("root/to-zero", NotAFile)]);
    for device in DEVICES {
        make(&fixture, device.0, device).unwrap();
        table.push((format!("root/{}", device.0), NotAFile));
    }
    fixture.link("root/to-null", "null").link("root/to-zero", "{base}/root/zero");
    fixture.check(&[], &table);
}

pub fn a_device_named_like_a_leftover_does_not_block_a_write() {
    let fixture = SandboxFixture::new();
    make(&fixture, ".recto-new-0123456789ab-1-1.tmp", DEVICES[1]).unwrap();
    fixture.check(&[], &rows([("root/inside.txt", opens("root/inside.txt"))]));
}
