import * as t from 'io-ts'
import { freeText, optional, QueryBoolean, QueryInt, request, SafeInteger } from '../kit/codecs.ts'
import { LooseBoolean, looseInteger, Namespace } from './codecs.ts'

/** What a list shows, in the words of `helm list`; each key may stand in the query instead. */
export const ReleaseListOptions = request(
  {
    all: optional(LooseBoolean),
    namespace: optional(Namespace),
    sort: optional(t.union([SafeInteger, freeText(16)])),
    byDate: optional(LooseBoolean),
    sortReverse: optional(LooseBoolean),
    limit: optional(looseInteger(0)),
    offset: optional(looseInteger(0)),
    filter: optional(freeText(1000)),
    short: optional(LooseBoolean),
    uninstalled: optional(LooseBoolean),
    superseded: optional(LooseBoolean),
    uninstalling: optional(LooseBoolean),
    deployed: optional(LooseBoolean),
    failed: optional(LooseBoolean),
    pending: optional(LooseBoolean),
    full: optional(LooseBoolean),
  },
  'ReleaseListOptions',
)

export const HistoryQuery = request({ max: optional(QueryInt), namespace: optional(Namespace), full: optional(QueryBoolean) }, 'HistoryQuery')
export const RevisionQuery = request({ version: optional(QueryInt), namespace: optional(Namespace) }, 'RevisionQuery')
