//! The house rules hold on every tracked file of this repository.

use xtask::tidy;
use xtask::tree::Tree;

#[test]
fn every_house_rule_holds() {
    let report = tidy::check(&Tree::of_this_repository().unwrap()).unwrap();
    report.into_result("tidy").unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_rule_of_the_documents_holds() {
    let report = xtask::docs::check(&Tree::of_this_repository().unwrap());
    report.into_result("docs").unwrap_or_else(|failure| panic!("{failure}"));
}
