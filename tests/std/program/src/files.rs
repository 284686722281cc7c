//! Files and folders.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

fn show<T: std::fmt::Debug>(what: &str, result: io::Result<T>) {
    match result {
        Ok(value) => println!("{what}: {value:?}"),
        Err(error) => println!("{what}: {:?}, {error}", error.kind()),
    }
}

/// Works in an empty folder.
pub fn check(folder: &str) {
    let root = Path::new(folder);
    let path = root.join("a file");
    let mut file = File::create(&path).expect("created");
    for n in 0..1000 {
        writeln!(file, "line {n}").expect("written");
    }
    drop(file);
    let text = fs::read_to_string(&path).expect("read");
    println!("{} bytes, {} lines", text.len(), text.lines().count());
    let lines = BufReader::new(File::open(&path).expect("opened")).lines();
    println!(
        "{}",
        lines
            .map_while(Result::ok)
            .filter(|line| line.ends_with('7'))
            .count()
    );

    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .expect("opened");
    println!("{:?}", file.seek(SeekFrom::End(-9)).expect("sought"));
    let mut tail = String::new();
    file.read_to_string(&mut tail).expect("read");
    println!("{tail:?} {:?}", file.stream_position().expect("told"));
    file.rewind().expect("rewound");
    file.write_all(b"LINE").expect("written");
    file.set_len(20).expect("cut");
    file.sync_all().expect("synchronised");
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.set_modified(time).expect("set");
    let data = file.metadata().expect("metadata");
    println!(
        "{} {} {:?}",
        data.len(),
        data.is_file(),
        data.modified().expect("a time") == time
    );
    println!(
        "{:?}",
        fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    );

    let mut other = file.try_clone().expect("duplicated");
    other.seek(SeekFrom::Start(3)).expect("sought");
    println!("{:?}", file.stream_position().expect("told"));

    let mut permissions = data.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).expect("set");
    println!(
        "{}",
        fs::metadata(&path)
            .expect("metadata")
            .permissions()
            .readonly()
    );

    fs::create_dir_all(root.join("x/y/z")).expect("folders");
    fs::write(root.join("x/one"), "1").expect("written");
    fs::copy(root.join("x/one"), root.join("x/y/two")).expect("copied");
    fs::rename(root.join("x/y/two"), root.join("x/y/three")).expect("renamed");
    fs::hard_link(root.join("x/one"), root.join("x/four")).expect("linked");
    for n in 0..300 {
        fs::write(
            root.join(format!("x/y/z/a file with a long name, number {n}")),
            "",
        )
        .expect("written");
    }
    list(root, root);
    println!(
        "{:?}",
        root.join("x/../x/one")
            .canonicalize()
            .expect("canonical")
            .ends_with("x/one")
    );

    show("again", fs::create_dir(root.join("x")));
    show("not empty", fs::remove_dir(root.join("x")));
    show("a folder", File::create(root.join("x")));
    show("no folder", fs::read_dir(&path).map(|_| ()));
    show(
        "new",
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map(|_| ()),
    );
    show("no access", OpenOptions::new().open(&path).map(|_| ()));
    show("long", File::open(root.join("n".repeat(300))).map(|_| ()));
    show("NUL", File::open("a\0b").map(|_| ()));
    fs::remove_dir_all(root.join("x")).expect("removed");
    show("gone", fs::metadata(root.join("x")).map(|_| ()));
    fs::remove_file(&path).expect("removed");
    println!("{:?}", fs::exists(&path));
}

/// Reads and writes more bytes than are copied by way of another buffer. Works in an empty folder.
pub fn large(folder: &str) {
    let path = Path::new(folder).join("large");
    let bytes: Vec<u8> = (0..300_001_u32).map(|n| (n % 251) as u8).collect();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .expect("created");
    show("written", file.write(&bytes));
    file.seek(SeekFrom::Start(1)).expect("sought");
    let mut buffer = vec![0xee; 400_000];
    let rest = &mut buffer[3..];
    let len = file.read(rest).expect("read");
    println!("{len} {}", rest[..len] == bytes[1..]);
    println!("{}", rest[len..].iter().all(|&byte| byte == 0xee));
    println!("{:?}", buffer[..3] == [0xee; 3]);
    show("at the end", file.read(&mut buffer));
    file.seek(SeekFrom::Start(100)).expect("sought");
    show("overwritten", file.write(&bytes[50_000..150_000]));
    println!("{:?}", file.stream_position().expect("told"));
    let text = fs::read(&path).expect("read");
    println!("{} {}", text.len(), text[100..100_100] == bytes[50_000..150_000]);
    println!("{} {}", text[..100] == bytes[..100], text[100_100..] == bytes[100_100..]);

    let mut reader = File::open(&path).expect("opened");
    show("only to read", reader.write(&bytes));
    let mut writer = File::create(&path).expect("opened");
    show("only to write", writer.read(&mut buffer));
    let (mut ours, mut other) = (file.try_clone().expect("cloned"), file);
    thread::scope(|scope| {
        scope.spawn(move || ours.write_all(&vec![1; 100_000]).expect("written"));
        scope.spawn(move || other.write_all(&vec![2; 100_000]).expect("written"));
    });
    let text = fs::read(&path).expect("read");
    let sum: u32 = text.iter().map(|&byte| u32::from(byte)).sum();
    println!("{} {sum}", text.len());
}

fn list(root: &Path, folder: &Path) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a list")
        .map(|entry| entry.expect("an entry"))
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().expect("a type");
        let path = entry.path();
        let name = path.strip_prefix(root).expect("below").display();
        println!(
            "{name} {} {}",
            kind.is_dir(),
            entry.metadata().expect("metadata").len() % 4096
        );
        if kind.is_dir() {
            list(root, &path);
        }
    }
}

/// A file that is not there.
pub fn missing() {
    let error = File::open("/no/such/file").expect_err("not there");
    println!("{} {:?}", error, error.kind() == ErrorKind::NotFound);
    let _ = fs::read("/no/such/file").expect("this panics");
}
