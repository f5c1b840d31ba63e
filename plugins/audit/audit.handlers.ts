import { right } from 'fp-ts/lib/Either.js'
import { AuditLogPort } from '../../core/audit/ports.ts'
import type { AuditEvent, AuditFilter } from '../../core/audit/types.ts'
import type { PauseInLongTurn } from '../../core/kernel/clock.ts'
import { PauseInLongTurnPort } from '../../core/kernel/clock.ts'
import { definedFields, toWireJson } from '../../core/kernel/json.ts'
import type { KeyedPageRequest, PageRequest } from '../../core/kernel/page.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  exportOrganizationAudit,
  exportSiteAudit,
  listOrganizationAudit,
  listOwnAudit,
  listSiteAudit,
} from './audit.routes.ts'
import { changesOf } from './codecs.ts'

const toWire = (event: AuditEvent) => ({
  id: event.id,
  time: event.at,
  action: event.action,
  result: event.result,
  actor_id: event.actorId,
  actor: event.actorName,
  impersonator_id: event.impersonatorId,
  impersonator: event.impersonatorId === undefined ? undefined : event.impersonatorName,
  method: event.method,
  token_id: event.tokenId,
  source_ip: event.sourceIp,
  request_id: event.requestId,
  operation: event.operation,
  object_type: event.objectType,
  object_id: event.objectId,
  object_name: event.objectName,
  owner_id: event.tenantId === 0 ? undefined : event.tenantId,
  changes: changesOf(event.changes),
})

interface Asked {
  readonly action: string | undefined
  readonly actor: string | undefined
  readonly since: Date | undefined
}

const filterOf = ({ action, actor, since }: Asked): AuditFilter => definedFields({ action, actor, since })

const keyedOf = (page: PageRequest, { before }: { readonly before: number | undefined }): KeyedPageRequest =>
  before === undefined ? page : { ...page, page: 1, before }

const exportedRows = 1000

/** Returns one JSON object per line. To continue, a client asks for the events after the id of the last line. */
const makeLinesOf =
  (pause: PauseInLongTurn) =>
  async (events: readonly AuditEvent[]): Promise<string> => {
    let lines = ''
    for (const event of events) {
      const turn = pause()
      if (turn !== undefined) await turn
      lines += `${toWireJson(toWire(event))}\n`
    }
    return lines
  }

export const auditGroup = defineGroup({
  needs: { events: AuditLogPort, pause: PauseInLongTurnPort },
  routes: ({ events, pause }) => {
    const linesOf = makeLinesOf(pause)
    return [
      handle(
        listOrganizationAudit,
        async (_call, { query, grant, page }) =>
          right(await events.list({ ...filterOf(query), tenantId: grant.ownerId }, keyedOf(page, query))),
        { reply: toWire },
      ),
      handle(
        listOwnAudit,
        async ({ principal }, { query, page }) =>
          right(await events.list({ ...filterOf(query), tenantId: principal.userId }, keyedOf(page, query))),
        { reply: toWire },
      ),
      handle(
        listSiteAudit,
        async (_call, { query, page }) => right(await events.list(filterOf(query), keyedOf(page, query))),
        { reply: toWire },
      ),
      handle(exportOrganizationAudit, async (_call, { query, grant }) =>
        right(
          await linesOf(
            await events.listAfter({ ...filterOf(query), tenantId: grant.ownerId }, query.after ?? 0, exportedRows),
          ),
        ),
      ),
      handle(exportSiteAudit, async (_call, { query }) =>
        right(await linesOf(await events.listAfter(filterOf(query), query.after ?? 0, exportedRows))),
      ),
    ]
  },
})
