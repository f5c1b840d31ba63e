import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { runCommandLine } from '../../composition/moorage.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'

export const personPassword = 'quiet-lantern-over-water-17'

/** Someone with an access token, all scopes. */
export interface Person {
  readonly login: string
  readonly id: number
  readonly token: string
}

/** Two instances of the service on one MariaDB and one keyring, as behind a load balancer. */
export interface TwoInstances {
  readonly instances: readonly [TestService, TestService]
  readonly database: SqlDatabase
  readonly adminToken: string
  /** The variables of commands that run beside the instances. */
  readonly environment: Readonly<Record<string, string>>
  /** The same request on both at once. */
  both(method: string, path: string, options?: SendOptions): Promise<readonly [ServiceAnswer, ServiceAnswer]>
  person(name: string): Promise<Person>
  /** A new organization of this person's. */
  organization(owner: Person, name: string): Promise<number>
  count(table: string, where?: Readonly<Record<string, string | number>>): Promise<number>
  /** Whether every audit chain is whole. */
  isAuditWhole(): Promise<boolean>
  stop(): Promise<void>
}

/** An answer that must have this status. */
export const must = async (status: number, answering: Promise<ServiceAnswer>): Promise<ServiceAnswer> => {
  const answer = await answering
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`)
  return answer
}

export const statusesOf = (answers: readonly ServiceAnswer[]): readonly number[] =>
  answers.map(({ status }) => status).sort((a, b) => a - b)

export const startTwoInstances = async (): Promise<TwoInstances> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-instances-'))
  const url = await migratedMysqlUrl()
  const shared = { MOORAGE_DATABASE_URL: url, MOORAGE_KEYRING: join(folder, 'keyring.json') }
  const settings = { ...shared, MOORAGE_TLS: 'false' }
  const first = await startService({ settings })
  const second = await startService({ settings })
  const database = await openPatiently(url)
  const admin = { token: first.adminToken }
  return {
    instances: [first, second],
    database,
    adminToken: first.adminToken,
    environment: { ...shared, MOORAGE_DATA_DIR: folder },
    both: (...request) => Promise.all([first.send(...request), second.send(...request)]),
    person: async (name) => {
      const body = {
        username: name,
        email: `${name}@example.com`,
        password: personPassword,
        must_change_password: false,
      }
      const made = await must(201, first.send('POST', '/api/v1/admin/users', { ...admin, body }))
      return { login: name, id: made.json.id as number, token: await first.tokenFor(name) }
    },
    organization: async (owner, name) =>
      (
        await must(
          201,
          first.send('POST', '/api/v1/orgs', { token: owner.token, body: { username: name, visibility: 'private' } }),
        )
      ).json.id as number,
    count: async (table, where = {}) =>
      Number((await database.query<{ n: number }>((k) => k(table).where(where).count({ n: '*' })))[0]?.n),
    isAuditWhole: async () => {
      const environment = { ...shared, MOORAGE_DATA_DIR: folder }
      return (
        (await runCommandLine(['audit', 'verify'], { environment, print: () => undefined, say: () => undefined })) === 0
      )
    },
    stop: async () => {
      await Promise.all([first.stop(), second.stop()])
      await database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
