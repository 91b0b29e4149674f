//! Tests of `csv::header`.

use super::super::dialect::detect;
use super::Layout;

/// Checks the header, or `-`, and the number of records above the values.
fn check(text: &str, header: &str, n_skipped: usize) {
    let layout = Layout::find(text, &detect(text, true, None));
    let found = layout.header.map_or("-".into(), |names| names.join("|"));
    assert_eq!((found.as_str(), layout.n_skipped), (header, n_skipped), "{text:?}");
}

#[test]
fn text_above_other_types_is_a_header() {
    check("a,b\n1,x\n2,y\n", "a|b", 1);
    check("1,x\n2,y\n", "-", 0);
    check("2024-01-01,x\n2024-01-02,y\n", "-", 0);
}

#[test]
fn a_date_above_timestamps_is_a_value() {
    check("1,2024-01-31\n2,2024-02-29 23:59\n", "-", 0);
    check("1,2024-01-31\n2,2024-02-29 23:59\n3,2024-03-01 08:30\n4,2024-03-02\n", "-", 0);
    check("1,2024-02-29 23:59\n2,2024-03-01\n3,2024-03-02\n", "-", 0);
    check("id,at\n1,2024-01-31\n2,2024-02-29 23:59\n3,2024-03-01 08:30\n", "id|at", 1);
}

#[test]
fn text_above_text_is_a_header() {
    check("a,b\nx,y\n", "a|b", 1);
    check("name\nAda\n", "name", 1);
    check("a,b\n", "a|b", 1);
}

#[test]
fn repeated_words_are_values() {
    check("red,apple\nred,cherry\n", "-", 0);
    check("Ada\nGrace\nAda\n", "-", 0);
}

#[test]
fn a_field_written_like_the_values_below_is_a_value() {
    check("ORD-7,Ada\nORD-8,Bob\nORD-9,Eve\n", "-", 0);
    check("$7.50,Ada\n$12.00,Bob\n", "-", 0);
    check("AD,+4230+00131\nAU,-3352+15113\nBR,-0351-03225\n", "-", 0);
    check("25%,Ada\n50%,Bob\n", "-", 0);
    check("ada@example.org\nbob@example.com\n", "-", 0);
    check("https://a.example/x\nhttps://b.example\n", "-", 0);
    check(
        "6f9619ff-8b86-d011-b42d-00c04fc964ff,x\n0e984725-c51c-4bf4-9960-e1c80e27aba0,y\n",
        "-",
        0,
    );
    check("unit,v1.0,v2.0\nm,3,4\n", "unit|v1.0|v2.0", 1);
    check("key,25%,50%\na,0.5,0.7\n", "key|25%|50%", 1);
    check("c1,c2\nv1,v2\nv3,v4\n", "c1|c2", 1);
    check("e-mail\nada@example.org\nbob@example.com\n", "e-mail", 1);
    check("q-1,q-2\na-1,b\nc,d-2\n", "q-1|q-2", 1);
}

#[test]
fn leading_zeros_above_numbers_are_a_value() {
    check("98439,03032,Ada\n51544,6871,Bob\n", "-", 0);
    check("id,name\n07,Ada\n12,Bob\n", "id|name", 1);
}

#[test]
fn a_date_above_dates_is_a_value() {
    check("2024-01-31,unknown\n2024-02-29,5\n2024-03-01,7\n", "-", 0);
    check("stop,08:00,09:00\n1,08:05,09:05\n", "stop|08:00|09:00", 1);
    check("sample,1100.5,1102.5\n3,0.1,0.2\n", "sample|1100.5|1102.5", 1);
}

#[test]
fn a_single_record_of_values_is_not_a_header() {
    check("Ada,true\n", "-", 0);
    check("Ada,ada@example.org\n", "-", 0);
    check("Ada,00731\n", "-", 0);
    check("t,no,name\n", "t|no|name", 1);
    check("e-mail,25%,v1.0\n", "e-mail|25%|v1.0", 1);
}

#[test]
fn a_placeholder_is_a_missing_value() {
    check("N/A,5\n3,4\n5,6\n", "-", 0);
    check("NA\n3\n5\n", "-", 0);
    check("-,null\nx,y\n", "-", 0);
    check("NA,Cl\n3,x\n5,y\n", "NA|Cl", 1);
}

#[test]
fn years_above_other_numbers_are_names() {
    check("k,2019,2020\na,1,2\n", "k|2019|2020", 1);
    check("k,2019\na,2020\n", "-", 0);
    check("k,2019,2020\na,,\nb,,\n", "k|2019|2020", 1);
}

#[test]
fn a_number_above_an_empty_column_is_a_value() {
    check("x,382\ny,\nz,\n", "-", 0);
    check("x,n\ny,\nz,\n", "x|n", 1);
}

#[test]
fn delimiters_without_names_are_a_header_or_a_title() {
    check(",\n1,2\n3,4\n", "|", 1);
    check(",,\n1,2,3\n", "-", 1);
    check(",,b\nx,1,5\ny,2,6\n", "||b", 1);
    check(",b,\nx,1,5\ny,2,6\n", "|b|", 1);
}

#[test]
fn leaves_the_row_names_without_a_name() {
    check("a,b\n1,x,3\n2,y,6\n", "|a|b", 1);
    check("a,b\n1,x,\n2,y,\n", "a|b", 1);
}

#[test]
fn fractions_above_counts_are_names() {
    check(",1.5,2.5,3.5\n9.4,0,1,0\n", "|1.5|2.5|3.5", 1);
    check("1.5,2.5\n2,3\n", "-", 0);
}

#[test]
fn skips_titles() {
    check("Title\na,b\n1,2\n3,4\n", "a|b", 2);
    check("Title,,\n,,\na,b,c\n1,2,3\n", "a|b|c", 3);
    check("sep=,\na,b\n1,2\n", "a|b", 2);
}

#[test]
fn finds_a_header_in_a_comment() {
    check("#a\tb\n1\t2\n3\t4\n", "#a|b", 0);
    check("# a,b\n1,2\n3,4\n", "a|b", 0);
    check("# x, y\na,b\n1,2\n", "a|b", 1);
}

#[test]
fn allows_a_header_that_is_too_short() {
    check("a,b\n1,2,3,4\n4,5,6,7\n7,8,9,0\n", "a|b", 1);
}

/// A header that lacks a name is still a header.
#[test]
fn keeps_a_header_above_a_record_of_words() {
    check(",name,score\n0,bob,pending\n1,ann,5\n2,cy,7\n", "|name|score", 1);
    check(",name,score,note\nr1,bob,ND,x\nr2,ann,5,y\nr3,cy,7,z\n", "|name|score|note", 1);
    check("a,b,\nx,TBA,z\n1,2,\n3,4,\n", "a|b|", 1);
    check("time,,press\ns,K,bar\n1,300,2.5\n2,301,2.6\n", "time||press", 1);
    check(",2019,2020\nAT,closed,closed\nDE,1,2\nFR,3,4\n", "|2019|2020", 1);
    check(",2019,2030\nAT,closed,closed\nDE,1,2\nFR,3,4\n", "-", 0);
}

#[test]
fn skips_a_line_that_is_mostly_empty_above_the_names() {
    check(
        "506,3,,\ncrim,zn,rooms,price\n0.1,18,6.5,24\n0.2,0,6.4,21.6\n",
        "crim|zn|rooms|price",
        2,
    );
    check(",Crows,,,Per crow,\nt,a,b,c,d,e\n0,1,2,3,4,5\n1,2,3,4,5,6\n", "t|a|b|c|d|e", 2);
}

#[test]
fn takes_names_from_a_comment_only_for_columns_that_have_none() {
    let rows = "a;a;;a\nb;b;;b\nc;d;;e\n";
    check(&format!("# provider;domain;proxy;stun\n{rows}"), "provider|domain|proxy|stun", 0);
    check("# exported by me, on monday, v1\nid,id,city\nx,y,Rome\nz,w,Oslo\n", "id|id|city", 1);
    check("# by me, on monday, v1\nid,,city\nx,y,Rome\nz,w,Oslo\n", "id||city", 1);
}

#[test]
fn a_repeated_word_above_prose_is_not_a_name() {
    let row = |n: u32| format!("ann,It is the number {n}\nbob,I would not buy {n} again\n");
    let rows: String = (0..6).map(row).collect();
    check(&format!("bob,Excellent\n{rows}"), "-", 0);
    let once: String = (0..9).map(|n| format!("ann,It is the number {n}\n")).collect();
    check(&format!("who,what\nwho,I would not buy it again\n{once}"), "who|what", 1);
}

#[test]
fn numbers_after_an_empty_corner_are_names() {
    check(",0,1\n0,5,6\n1,7,8\n", "|0|1", 1);
    check(",0\nx,5\ny,7\n", "|0", 1);
    check(",2018,2019\nnorth,1,2\nsouth,3,4\n", "|2018|2019", 1);
    check(",5,6\n,7,8\nx,9,9\n", "-", 0);
    check(",5,7\nx,7,8\ny,9,9\n", "-", 0);
    check(",5\nx,7\ny,9\n", "-", 0);
}

#[test]
fn a_year_above_text_is_a_name() {
    check("district,2018\nAK-1,R+15.21\nAL-1,R+28.61\n", "district|2018", 1);
    check("gas,1980,1981\nPeru,-,\"3,348\"\nChad,-,\"5,100\"\n", "gas|1980|1981", 1);
    check("Ada,1815\nBob,c. 1900\nEve,1950\n", "-", 0);
    check("2018,x1\n5,x2\n6,x3\n", "-", 0);
}
