/* SPDX-License-Identifier: MIT
 * Parts of JSON that several printers write. */
#ifndef WTM_REPORT_PRINT_PARTS_H
#define WTM_REPORT_PRINT_PARTS_H

#include "common/summary.h"
#include "report/json_writer.h"

void wtm_json_refused(struct wtm_json *json, const struct wtm_summary *summary); /* "refused":[...] */
void wtm_json_missing(struct wtm_json *json, const struct wtm_summary *summary); /* "not_found":[...] */

#endif
