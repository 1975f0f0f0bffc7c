// Everything that most programs need.
#pragma once

#include <conclave/admin.hpp>
#include <conclave/callbacks.hpp>
#include <conclave/candidate.hpp>
#include <conclave/checks.hpp>
#include <conclave/coroutine.hpp>
#include <conclave/observer.hpp>
#include <conclave/open.hpp>
#include <conclave/run.hpp>
#include <conclave/version.hpp>
#include <conclave/waits.hpp>
