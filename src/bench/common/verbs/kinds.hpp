// Words for what libibverbs can do, known without it too.
#pragma once

#include "common/arguments.hpp"

namespace bench::verbs {

enum class QpType { Rc, Uc, Ud };
constexpr Choices<QpType, 3> kQpTypes = {
    {{"rc", QpType::Rc}, {"uc", QpType::Uc}, {"ud", QpType::Ud}}};

/// How a program waits for completions.
enum class Waiting { Polling, Event };
constexpr Choices<Waiting, 2> kWaitings = {
    {{"polling", Waiting::Polling}, {"event", Waiting::Event}}};

} // namespace bench::verbs
