import { isRight } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { answer, FreeObjectCodec, Instant, oneOf, optional, patternText, QueryId, request, SafeInteger } from '../kit/codecs.ts'

const ActionWord = patternText(/^[a-z][a-zA-Z_-]*\.[a-z][a-zA-Z_-]*$/, 64, 'an action, such as role.created')

/** The login of a person or of a robot account. */
const ActorName = patternText(/^[\w.+-]+$/, 100, 'the name of an account')
const filters = { action: optional(ActionWord), actor: optional(ActorName), since: optional(Instant) }

/** The filters of a list of events. An event must match every filter that is given. */
export const AuditQuery = request(filters, 'AuditQuery')
/** The same filters, for the events after a known id. */
export const AuditExportQuery = request({ ...filters, after: optional(QueryId) }, 'AuditExportQuery')

export const AuditEventResponse = answer(
  {
    id: SafeInteger,
    time: Instant,
    action: t.string,
    result: oneOf('done', 'denied'),
    actor_id: optional(SafeInteger),
    actor: t.string,
    impersonator_id: optional(SafeInteger),
    impersonator: optional(t.string),
    method: t.string,
    token_id: optional(SafeInteger),
    source_ip: t.string,
    request_id: t.string,
    operation: t.string,
    object_type: t.string,
    object_id: optional(SafeInteger),
    object_name: t.string,
    owner_id: optional(SafeInteger),
    changes: FreeObjectCodec,
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
