/* The permissions that the programs' service accounts lack, from SubjectAccessReviews. */
#pragma once

#include "cli/doctor/doctor_facts.h"

/** doctor_permission_ask() - one review per permission; sets @facts->permissions */
void doctor_permission_ask(struct cluster *cluster, struct doctor_facts *facts);
