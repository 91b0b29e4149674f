//! What exists near a path that does not: the file that a caller probably meant.
//!
//! Everything is found by listing, so that no name appears that a listing omits: denied, ignored,
//! closed by the client's sandbox, or outside the roots.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use crate::glob::Glob;
use crate::path::AbsPath;
use crate::{ListRequest, Listing};

/// The maximum number of suggested files.
const MAX_FILES: usize = 3;

/// The maximum number of missing directories.
const MAX_LEVELS: usize = 32;

/// What exists near a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nearby {
    /// The files that the caller may have meant, the most likely first, valid as paths of a call.
    pub files: Vec<String>,
    /// The deepest directory of the path that exists.
    pub folder: Option<String>,
}

/// Finds what exists near a path. `roots` are spelled as the user gave them.
pub fn find(
    path: &AbsPath,
    roots: &[PathBuf],
    list: impl Fn(&ListRequest<'_>) -> Option<Listing>,
) -> Nearby {
    let name = path.file_name();
    let list_in = |folder: &Path, glob: Glob, limit: usize| {
        let folder = AbsPath::of(folder.to_path_buf(), String::new());
        let glob = if name.starts_with('.') { glob.showing_hidden() } else { glob };
        let request = ListRequest { folder: &folder, glob: &glob, shows_ignored: false, limit };
        // Only a directory that is neither denied nor ignored has a path here.
        list(&request).filter(|found| !found.is_missing && !found.folder.as_os_str().is_empty())
    };
    let everything = || Glob::parse("*").expect("* is a valid pattern").1;
    let Ok((_, same_name)) = Glob::parse(&format!("**/{}", escaped(name))) else {
        return Nearby::default();
    };
    if name.is_empty() || path.as_str().ends_with('/') {
        return Nearby::default();
    }
    let mut files = Vec::new();
    if let Some(rest) = path.as_str().strip_prefix("~/") {
        // The home directory is not known, but it is probably above a root.
        for folder in roots.iter().flat_map(|root| root.ancestors()) {
            let meant = folder.join(rest);
            let is_inside = roots.iter().any(|root| meant.starts_with(root));
            let parent = meant.parent().filter(|_| is_inside);
            let listing = parent.and_then(|parent| list_in(parent, everything(), usize::MAX));
            if listing.is_some_and(|listing| listing.files.iter().any(|file| file == name)) {
                files.push(meant.display().to_string());
            }
        }
    }
    let parent = path.as_path().parent().unwrap_or(Path::new("/"));
    let siblings = list_in(parent, everything(), usize::MAX);
    let mut similar: Vec<(usize, String)> = Vec::new();
    for file in siblings.iter().flat_map(|listing| &listing.files) {
        if let Some(distance) = distance(name, file) {
            let given = Path::new(path.as_str()).with_file_name(file);
            similar.push((distance, given.display().to_string()));
        }
    }
    similar.sort();
    let n_close = similar.partition_point(|(distance, _)| *distance <= 1);
    let less_similar = similar.split_off(n_close);
    files.extend(similar.into_iter().map(|(_, file)| file));
    let mut elsewhere: Vec<PathBuf> = Vec::new();
    for root in roots.iter().filter(|_| files.is_empty()) {
        let found = list_in(root, same_name.clone(), 100).unwrap_or_default().files;
        elsewhere.extend(found.iter().map(|file| root.join(file)));
    }
    elsewhere.sort_by_key(|file| (Reverse(n_equal_at_end(file, path.as_path())), file.clone()));
    elsewhere.dedup();
    files.extend(elsewhere.into_iter().map(|file| file.display().to_string()));
    files.extend(less_similar.into_iter().map(|(_, file)| file));
    files.truncate(MAX_FILES);
    let folder = match siblings {
        Some(_) => Some(parent),
        None => parent
            .ancestors()
            .take(MAX_LEVELS)
            .find(|folder| list_in(folder, everything(), 0).is_some()),
    };
    Nearby { files, folder: folder.map(|folder| folder.display().to_string()) }
}

/// Returns how far a name is from the wanted one, if it is similar: 0 in other case, 1 with one typing
/// error or another extension.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    if wanted == name {
        return Some(0);
    }
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_os_string());
    if stem(&wanted) == stem(&name) {
        return Some(1);
    }
    // In a short name, a difference of one letter is another name.
    let max = stem(&wanted).map_or(0, |stem| stem.len() / 3).min(3);
    if wanted.len().abs_diff(name.len()) > 4 * max {
        return None;
    }
    Some(strsim::osa_distance(&wanted, &name)).filter(|distance| *distance <= max)
}

/// Counts the components at the end that two paths share.
fn n_equal_at_end(one: &Path, other: &Path) -> usize {
    let parts = one.components().rev().zip(other.components().rev());
    parts.take_while(|(one, other)| one == other).count()
}

/// Returns a pattern that matches a name literally.
fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        if matches!(c, '*' | '?' | '[' | '{' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_have_a_distance() {
        for (wanted, name, expected) in [
            ("README.md", "readme.md", Some(0)),
            ("mian.rs", "main.rs", Some(1)),
            ("app.js", "app.ts", Some(1)),
            ("config.yml", "config.yaml", Some(1)),
            ("a.txt", "b.txt", None),
            ("main.rs", "lib.rs", None),
            ("server_config.rs", "serverconfg.rs", Some(2)),
            ("é.txt", "É.txt", Some(0)),
        ] {
            assert_eq!(distance(wanted, name), expected, "{wanted} {name}");
        }
    }
}
