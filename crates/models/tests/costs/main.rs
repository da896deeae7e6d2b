//! Hostile answers: what reading them costs, and sending them back. This is a
//! program by itself, because it counts what the whole of it has in use.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod measure;

use offshoot_wiretest::{HostileAnswer, HostileWire};

use self::measure::measure;

/// How many bytes one answer may take at once.
const MOST: usize = 64_000_000;

const MIB: usize = 1024 * 1024;

/// Answers whose cost lies in their number of events are smaller here: the
/// example measures them whole.
fn longest(family: HostileAnswer) -> usize {
    match family {
        HostileAnswer::TinyDeltas
        | HostileAnswer::TinyArguments
        | HostileAnswer::Interleaved
        | HostileAnswer::ByteByByte => MIB / 32,
        // What is kept ends them; the body has room for more.
        HostileAnswer::LongItems
        | HostileAnswer::ContinuedItems
        | HostileAnswer::HiddenRefusal
        | HostileAnswer::LongIds => 60 * MIB,
        HostileAnswer::ManyItems => 4 * MIB,
        HostileAnswer::RenamedCalls => MIB / 8,
        HostileAnswer::CrowdedEvent => MIB / 2,
        HostileAnswer::ManyCalls | HostileAnswer::NamelessCalls => MIB,
        _ => 8 * MIB,
    }
}

#[tokio::test]
async fn any_answer_costs_a_bounded_amount_of_memory() {
    let mut over = Vec::new();
    for family in HostileAnswer::ALL {
        for wire in HostileWire::ALL {
            // The longest text that is kept costs most.
            for size in [longest(family), longest(family) / 64 * 31] {
                let cost = measure(family, wire, size).await;
                let most = cost.peak.max(cost.sent_on);
                let came = cost.answer.map(|answer| answer.parts.len());
                let told = format!("{most} bytes, {:?}, {came:?}", cost.cpu);
                if most > MOST {
                    over.push(format!("{family:?} {wire:?} {size}: {told}"));
                }
            }
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
    // Twice as long costs about twice as much. What a call has at least is small.
    for family in HostileAnswer::ALL {
        for wire in HostileWire::ALL {
            let half = measure(family, wire, longest(family) / 16).await;
            let whole = measure(family, wire, longest(family) / 8).await;
            let (half, whole) = (half.peak.max(half.sent_on), whole.peak.max(whole.sent_on));
            let linear = whole <= half * 5 / 2 + 2 * MIB;
            assert!(linear, "{family:?} {wire:?}: {half} bytes became {whole}");
        }
    }
}
