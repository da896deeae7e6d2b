//! Directed graphs: the parts whose nodes all reach each other, and the edges that make them so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A directed graph over names, with a weight on each edge.
#[derive(Debug, Default)]
pub(crate) struct Digraph {
    edges: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Digraph {
    /// Adds an edge.
    pub(crate) fn add(&mut self, from: &str, to: &str, weight: usize) {
        self.edges.entry(from.to_owned()).or_default().insert(to.to_owned(), weight);
    }

    /// The sets of two or more nodes that all reach each other.
    pub(crate) fn components(&self) -> Vec<BTreeSet<String>> {
        let mut components: Vec<BTreeSet<String>> = Vec::new();
        for from in self.edges.keys() {
            if components.iter().any(|known| known.contains(from)) {
                continue;
            }
            let returns = |to: &String| self.reached_from(to).contains(from);
            let component: BTreeSet<_> =
                self.reached_from(from).into_iter().filter(returns).collect();
            if component.len() > 1 {
                components.push(component);
            }
        }
        components
    }

    /// Edges of a component without which it has no cycle, and none of which can be kept.
    ///
    /// Heavy edges are kept first, so that little has to change.
    pub(crate) fn closing_edges(&self, component: &BTreeSet<String>) -> Vec<(String, String)> {
        let mut edges: Vec<_> = component
            .iter()
            .flat_map(|from| self.edges[from].iter().map(move |(to, weight)| (weight, from, to)))
            .filter(|(_, from, to)| component.contains(*to) && from != to)
            .collect();
        edges.sort_by_key(|(weight, from, to)| (std::cmp::Reverse(**weight), *from, *to));
        let mut kept = Self::default();
        let mut closing = Vec::new();
        for (weight, from, to) in edges {
            if kept.reached_from(to).contains(from) {
                closing.push((from.clone(), to.clone()));
            } else {
                kept.add(from, to, *weight);
            }
        }
        closing
    }

    /// The nodes of a shortest way, both ends included; none if there is no way.
    pub(crate) fn way(&self, from: &str, to: &str) -> Vec<String> {
        let mut came_from = BTreeMap::new();
        let mut next = VecDeque::from([from.to_owned()]);
        while let Some(node) = next.pop_front() {
            for neighbour in self.neighbours(&node) {
                if neighbour != from && !came_from.contains_key(neighbour) {
                    came_from.insert(neighbour.clone(), node.clone());
                    next.push_back(neighbour.clone());
                }
            }
        }
        let mut way = vec![to.to_owned()];
        while way.last().is_some_and(|node| node != from) {
            match came_from.get(&way[way.len() - 1]) {
                Some(previous) => way.push(previous.clone()),
                None => return Vec::new(),
            }
        }
        way.reverse();
        way
    }

    fn neighbours(&self, node: &str) -> impl Iterator<Item = &String> {
        self.edges.get(node).into_iter().flat_map(BTreeMap::keys)
    }

    /// The node itself, and every node that a way from it leads to.
    fn reached_from(&self, node: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::from([node.to_owned()]);
        let mut next = vec![node.to_owned()];
        while let Some(node) = next.pop() {
            for neighbour in self.neighbours(&node) {
                if reached.insert(neighbour.clone()) {
                    next.push(neighbour.clone());
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str, usize)]) -> Digraph {
        let mut graph = Digraph::default();
        for (from, to, weight) in edges {
            graph.add(from, to, *weight);
        }
        graph
    }

    #[test]
    fn a_graph_in_one_direction_has_no_component() {
        assert!(graph(&[("a", "b", 1), ("b", "c", 1), ("a", "c", 1)]).components().is_empty());
    }

    #[test]
    fn each_component_is_found_once() {
        let graph = graph(&[
            ("a", "b", 1),
            ("b", "a", 1),
            ("b", "c", 1),
            ("c", "d", 1),
            ("d", "e", 1),
            ("e", "c", 1),
        ]);
        let components: Vec<Vec<_>> =
            graph.components().into_iter().map(|found| found.into_iter().collect()).collect();
        assert_eq!(components, [vec!["a", "b"], vec!["c", "d", "e"]]);
    }

    #[test]
    fn the_lightest_edge_of_a_cycle_is_the_one_to_remove() {
        let graph = graph(&[("a", "b", 5), ("b", "c", 1), ("c", "a", 3)]);
        let component = graph.components().remove(0);
        assert_eq!(graph.closing_edges(&component), [("b".to_owned(), "c".to_owned())]);
        assert_eq!(graph.way("c", "b"), ["c", "a", "b"]);
        assert!(graph.way("c", "z").is_empty());
    }
}
