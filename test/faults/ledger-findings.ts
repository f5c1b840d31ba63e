import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { isAcknowledged, type Attempt, type CreatedKind } from './write-ledger.ts'

/** Where a thing of each kind is kept, under which name, and what its audit row says. */
const places: Readonly<
  Record<CreatedKind, { readonly table: string; readonly column: string; readonly action: string }>
> = {
  user: { table: 'accounts', column: 'name', action: 'user.created' },
  organization: { table: 'accounts', column: 'name', action: 'organization.created' },
  team: { table: 'teams', column: 'name', action: 'team.created' },
  token: { table: 'access_tokens', column: 'name', action: 'token.created' },
  role: { table: 'roles', column: 'name', action: 'role.created' },
}

const countOf = async (
  database: SqlDatabase,
  table: string,
  where: Readonly<Record<string, string>>,
): Promise<number> => {
  const [row] = await database.query<{ n: number }>((k) => k(table).where(where).count({ n: '*' }))
  return Number(row?.n)
}

/** The id of a thing that is there once. */
export const idOf = async (database: SqlDatabase, { kind, name }: Attempt): Promise<number> => {
  const { table, column } = places[kind]
  const [row] = await database.query<{ id: number }>((k) =>
    k(table)
      .where({ [column]: name })
      .select('id'),
  )
  return Number(row?.id)
}

/** How often a thing is there, and how many audit rows tell of its making. */
export const effectsOf = async (
  database: SqlDatabase,
  { kind, name }: Attempt,
): Promise<{ readonly rows: number; readonly audited: number }> => {
  const { table, column, action } = places[kind]
  return {
    rows: await countOf(database, table, { [column]: name }),
    audited: await countOf(database, 'audit_events', { action, object_name: name, result: 'done' }),
  }
}

/**
 * What is wrong with the database as seen from what clients were told, in words: an acknowledged change that is not
 * there once with one audit row under the answer's own request id, a half change, a change of a request that was
 * refused.
 */
export const findings = async (database: SqlDatabase, attempts: readonly Attempt[]): Promise<readonly string[]> => {
  const found: string[] = []
  for (const attempt of attempts) {
    const { rows, audited } = await effectsOf(database, attempt)
    const told = `${attempt.kind} ${attempt.name} got ${attempt.answer?.status ?? 'nothing'}`
    if (rows !== audited) found.push(`${told}: ${rows} rows, ${audited} audit rows`)
    if (rows > 1) found.push(`${told}: there are ${rows}`)
    if (!isAcknowledged(attempt)) {
      if (attempt.answer !== undefined && attempt.answer.status < 500 && rows > 0) found.push(`${told}, and is there`)
      continue
    }
    if (rows !== 1) found.push(`${told}: there are ${rows}`)
    const requestId = String(attempt.answer?.headers['x-request-id'])
    const ofRequest = await countOf(database, 'audit_events', {
      request_id: requestId,
      object_name: attempt.name,
      result: 'done',
    })
    if (ofRequest !== 1 && attempt.answer?.headers['idempotency-replayed'] === undefined)
      found.push(`${told}: ${ofRequest} audit rows of request ${requestId}`)
  }
  return found
}
