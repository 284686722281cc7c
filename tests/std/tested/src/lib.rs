//! Tests of every outcome.

#[cfg(test)]
mod tests {
    use std::{env, process, thread};

    #[test]
    fn adds() {
        println!("output of a test that passes");
        #[cfg(feature = "extra")]
        println!("and has a feature");
        assert_eq!(1 + 1, 2);
    }

    #[test]
    fn ends_the_program() {
        process::exit(0);
    }

    #[test]
    fn fails() {
        println!("output of a test that fails");
        assert_eq!(1 + 1, 3, "sums differ");
    }

    #[test]
    #[ignore = "to be asked for"]
    fn ignored() {
        panic!("ignored, but not as asked");
    }

    #[test]
    fn is_an_error() -> Result<(), String> {
        Err("an error of its own".to_owned())
    }

    #[test]
    #[should_panic(expected = "as it should")]
    fn panics() {
        panic!("as it should");
    }

    #[test]
    #[should_panic(expected = "something else")]
    fn panics_with_another_message() {
        panic!("not that");
    }

    #[test]
    fn runs_in_its_package() {
        let folder = env::current_dir().expect("a folder");
        assert!(folder.join("Cargo.toml").exists());
        assert_eq!(
            Some(folder.as_os_str()),
            env::var_os("CARGO_MANIFEST_DIR").as_deref()
        );
    }

    #[test]
    fn waits_for_ever() {
        while env::var_os("REVOFF_CHECK_WAIT").is_some() {
            thread::yield_now();
        }
    }
}
