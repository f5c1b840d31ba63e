import { isRight } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import {
  answer,
  described,
  FreeObjectCodec,
  Instant,
  naming,
  oneOf,
  optional,
  patternText,
  plainValue,
  QueryId,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

const ActionWord = patternText(/^[a-z][a-zA-Z_-]*\.[a-z][a-zA-Z_-]*$/, 64, 'an action, such as role.created')

/** The login of a person or of a robot account. */
const ActorName = patternText(/^[\w.+-]+$/, 100, 'the name of an account')
const filters = {
  action: described(
    optional(plainValue(ActionWord)),
    'Only events of this action, such as role.created; all if absent.',
  ),
  actor: described(
    optional(naming(ActorName, 'user', 'name')),
    'Only events of the account with this name, without regard to case; all if absent.',
  ),
  since: described(optional(plainValue(Instant)), 'Only events at or after this RFC 3339 time; all if absent.'),
}

/** The filters of a list of events. An event must match every filter that is given. */
export const AuditQuery = request(
  {
    ...filters,
    before: described(
      optional(plainValue(QueryId)),
      'Only events with a lower id than this; from the newest event if absent. The link to the next page has it.',
    ),
  },
  'AuditQuery',
)
/** The same filters, for the events after a known id. */
export const AuditExportQuery = request(
  {
    ...filters,
    after: described(
      optional(plainValue(QueryId)),
      'Only events with a higher id than this; from the oldest event if absent.',
    ),
  },
  'AuditExportQuery',
)

export const AuditEventResponse = answer(
  {
    id: described(SafeInteger, 'The id of the event; a later event has a higher one.'),
    time: described(Instant, 'When it happened, RFC 3339 in UTC.'),
    action: described(t.string, 'The kind of the event: an object, a dot and a verb, such as role.created.'),
    result: described(oneOf('done', 'denied'), '`done` for a change that was made, `denied` for one that was refused.'),
    actor_id: described(optional(SafeInteger), 'The id of the account that acted; absent if none did.'),
    actor: described(t.string, 'The name of the account that acted, at that time; empty if none did.'),
    impersonator_id: described(
      optional(SafeInteger),
      'The id of the site admin who acted as the actor; absent if none did.',
    ),
    impersonator: described(
      optional(t.string),
      'The name of the site admin who acted as the actor; absent if none did.',
    ),
    method: described(t.string, 'How the caller was authenticated: token, password, session or none.'),
    token_id: described(optional(SafeInteger), 'The id of the access token of the request; absent if it had none.'),
    source_ip: described(t.string, 'The network address of the request.'),
    request_id: described(t.string, 'The id of the request, as in its header `X-Request-Id` and in the log.'),
    operation: described(t.string, 'The operation of this interface, such as authz.createRole.'),
    object_type: described(t.string, 'The type of the changed object, such as role.'),
    object_id: described(optional(SafeInteger), 'The id of the changed object; absent if it has none.'),
    object_name: described(t.string, 'The name of the changed object, at that time.'),
    owner_id: described(
      optional(SafeInteger),
      'The id of the account whose log has the event; absent for the log of the site.',
    ),
    changes: described(FreeObjectCodec, 'What changed, by field; secrets are never shown.'),
  },
  'AuditEvent',
)

/** Parses stored JSON of this service. Returns an empty object for a damaged row, which must not hide the others. */
export const changesOf = (text: string): t.TypeOf<typeof FreeObjectCodec> => {
  try {
    const decoded = FreeObjectCodec.decode(JSON.parse(text))
    return isRight(decoded) ? decoded.right : {}
  } catch {
    return {}
  }
}
