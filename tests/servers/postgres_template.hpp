// New data folders of PostgreSQL. To make one takes a second or two, so one is made for all tests,
// and copied.
#pragma once

#include <string>

namespace conclave::servers {

// The path of one of PostgreSQL's programs.
std::string postgres_program(const std::string& name);

// Makes this folder, of the user unprivileged() runs things as. The superuser is conclave; whoever
// gets in is believed to be who he says.
void make_postgres_data(const std::string& folder);

}  // namespace conclave::servers
