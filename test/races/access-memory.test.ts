// process: own - starts services as processes
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needing } from '../support/components/needing.ts'
import { migratedMysqlUrl, migratedSqlitePath } from '../support/databases.ts'
import type { SendOptions } from '../support/send-json.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { repeats } from '../support/thorough.ts'
import type { AccessHistory } from './access-history.ts'
import { makeAccessHistory } from './access-history.ts'
import { must } from './two-instances.ts'

const test = needing('mariadb')

const password = 'quiet-lantern-over-water-17'
const rounds = repeats(3, 60)

/** Two processes of the service on one database. */
interface Pair {
  readonly processes: readonly [ServiceProcess, ServiceProcess]
  readonly adminToken: string
  /** The one whose turn it is: changes alternate between the processes in no order. */
  any(): ServiceProcess
}

const onPair = async (database: 'sqlite' | 'mysql', run: (pair: Pair) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-pair-'))
  const settings = {
    MOORAGE_DATABASE_URL: database === 'mysql' ? await migratedMysqlUrl() : `sqlite:${await migratedSqlitePath()}`,
    MOORAGE_KEYRING: join(folder, 'keyring.json'),
    MOORAGE_TLS: 'false',
  }
  const first = await startServiceProcess({ settings })
  const second = await startServiceProcess({ settings }).catch(async (error: unknown) => {
    await first.stop()
    throw error
  })
  try {
    const adminToken = await newToken(first, adminLogin, adminPassword)
    await run({ processes: [first, second], adminToken, any: () => (Math.random() < 0.5 ? first : second) })
  } finally {
    await Promise.all([first.stop(), second.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

let named = 0
const newName = (word: string): string => `${word}-${(named += 1)}`

const newToken = async (at: ServiceProcess, login: string, secret: string): Promise<string> =>
  String((await tokenOf(at, login, secret))['sha1'])

const tokenOf = async (at: ServiceProcess, login: string, secret: string): Promise<Record<string, unknown>> =>
  (
    await must(
      201,
      at.send('POST', `/api/v1/users/${login}/tokens`, {
        basic: [login, secret],
        body: { name: newName('token'), scopes: ['all', 'sudo'] },
      }),
    )
  ).json as Record<string, unknown>

interface Person {
  readonly login: string
  readonly token: string
}

const newPerson = async ({ any, adminToken }: Pair): Promise<Person> => {
  const login = newName('person')
  const body = { username: login, email: `${login}@example.com`, password, must_change_password: false }
  await must(201, any().send('POST', '/api/v1/admin/users', { token: adminToken, body }))
  return { login, token: await newToken(any(), login, password) }
}

/** Something that a caller may do or not, what changes that, and a request that shows it. */
interface Right {
  readonly what: string
  set(isAllowed: boolean): Promise<void>
  ask(at: ServiceProcess): Promise<boolean>
}

/** Reports whether a request was allowed. Any answer that says neither is an error. */
const isAllowedBy = async (
  at: ServiceProcess,
  method: string,
  path: string,
  options: SendOptions,
): Promise<boolean> => {
  const { status, text } = await at.send(method, path, options)
  if (status === 200) return true
  if ([401, 403, 404].includes(status)) return false
  throw new Error(`${method} ${path}: ${status} ${text}`)
}

const done = async (at: ServiceProcess, method: string, path: string, options: SendOptions): Promise<void> => {
  const { status, text } = await at.send(method, path, options)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
}

const sent = (token: string, body?: unknown): SendOptions => ({ token, ...(body === undefined ? {} : { body }) })

/** An account that is disabled and enabled: its token, and acting as it. */
const accountRights = async (pair: Pair): Promise<readonly Right[]> => {
  const person = await newPerson(pair)
  const set = (isAllowed: boolean) =>
    done(
      pair.any(),
      'PATCH',
      `/api/v1/admin/users/${person.login}`,
      sent(pair.adminToken, { active: isAllowed, login_name: person.login, source_id: 0 }),
    )
  return [
    { what: 'an enabled account', set, ask: (at) => isAllowedBy(at, 'GET', '/api/v1/user', sent(person.token)) },
    {
      what: 'an account to act as',
      set: async () => undefined,
      ask: (at) => isAllowedBy(at, 'GET', `/api/v1/user?sudo=${person.login}`, sent(pair.adminToken)),
    },
  ]
}

const newOrganization = async (pair: Pair, owner: Person): Promise<string> => {
  const org = newName('org')
  await done(pair.any(), 'POST', '/api/v1/orgs', sent(owner.token, { username: org, visibility: 'private' }))
  return org
}

const newTeam = async (pair: Pair, owner: Person, org: string, permission: string): Promise<number> =>
  Number(
    (
      await must(
        201,
        pair.any().send('POST', `/api/v1/orgs/${org}/teams`, sent(owner.token, { name: newName('team'), permission })),
      )
    ).json.id,
  )

/** Membership, a level and a permission of a role, in an organization of their own. */
const organizationRights = async (pair: Pair): Promise<readonly Right[]> => {
  const [owner, member, other] = [await newPerson(pair), await newPerson(pair), await newPerson(pair)]
  const org = await newOrganization(pair, owner)
  const readers = await newTeam(pair, owner, org, 'read')
  const changing = await newTeam(pair, owner, org, 'read')
  const team = `/api/v1/teams/${readers}/members/${member.login}`
  await done(pair.any(), 'PUT', `/api/v1/teams/${changing}/members/${other.login}`, sent(owner.token))
  const list = `/api/v1/authz/roles?org=${org}`
  return [
    {
      what: 'a membership',
      set: (isAllowed) => done(pair.any(), isAllowed ? 'PUT' : 'DELETE', team, sent(owner.token)),
      ask: (at) => isAllowedBy(at, 'GET', list, sent(member.token)),
    },
    {
      what: 'a level of a team',
      set: (isAllowed) =>
        done(
          pair.any(),
          'PATCH',
          `/api/v1/teams/${changing}`,
          sent(owner.token, { permission: isAllowed ? 'admin' : 'read' }),
        ),
      ask: (at) => isAllowedBy(at, 'GET', `/api/v1/orgs/${org}/invitations`, sent(other.token)),
    },
  ]
}

const roleRights = async (pair: Pair): Promise<readonly Right[]> => {
  const [owner, holder] = [await newPerson(pair), await newPerson(pair)]
  const org = await newOrganization(pair, owner)
  const team = await newTeam(pair, owner, org, 'custom')
  await done(pair.any(), 'PUT', `/api/v1/teams/${team}/members/${holder.login}`, sent(owner.token))
  const role = (permissions: readonly unknown[]) => ({ name: 'role', permissions, teamIDs: [team] })
  const view = { namespace: 'org_mgmt', action: 'view teams' }
  const clusters = { namespace: 'cluster_mgmt', action: 'view clusters' }
  const made = await must(
    201,
    pair.any().send('POST', `/api/v1/authz/roles?org=${org}`, sent(owner.token, role([clusters, view]))),
  )
  return [
    {
      what: 'a permission of a role',
      set: (isAllowed) =>
        done(
          pair.any(),
          'PUT',
          `/api/v1/authz/roles/${made.json.id}?org=${org}`,
          sent(owner.token, role(isAllowed ? [clusters, view] : [clusters])),
        ),
      ask: (at) => isAllowedBy(at, 'GET', `/api/v1/orgs/${org}/teams`, sent(holder.token)),
    },
  ]
}

/** Asks on both processes, again and again, until the changes are made. */
const askUntil = (pair: Pair, right: Right, history: AccessHistory, isOver: () => boolean): readonly Promise<void>[] =>
  pair.processes.map(async (at, index) => {
    while (!isOver()) await history.observe(`${right.what} on ${index}`, () => right.ask(at))
  })

/** After each change, the very next request on each process must be answered by it. */
const changeAndAsk = async (
  pair: Pair,
  right: Right,
  history: AccessHistory,
  others: readonly [Right, AccessHistory][],
) => {
  let isAllowed = await right.ask(pair.processes[0])
  for (let round = 0; round < 2 * rounds; round += 1) {
    isAllowed = !isAllowed
    const all = [history, ...others.map(([, of]) => of)]
    await all.reduce<() => Promise<void>>(
      (run, of) => () => of.change(isAllowed, run),
      () => right.set(isAllowed),
    )()
    for (const [asked, of] of [[right, history] as const, ...others])
      for (const at of pair.processes) await of.observe(`${asked.what}, just changed`, () => asked.ask(at))
  }
}

/** Credentials of one life: each works from its answer on, until it is revoked. */
const oneLife = async (
  pair: Pair,
  what: string,
  make: () => Promise<{ readonly credential: SendOptions; revoke(): Promise<void> }>,
): Promise<readonly AccessHistory[]> => {
  const lives: AccessHistory[] = []
  for (let round = 0; round < rounds; round += 1) {
    const { credential, revoke } = await make()
    const history = makeAccessHistory(true)
    lives.push(history)
    const right: Right = {
      what,
      set: revoke,
      ask: (at) => isAllowedBy(at, 'GET', '/api/v1/user', credential),
    }
    let isOver = false
    for (const at of pair.processes) await history.observe(`${what}, new`, () => right.ask(at))
    const asking = Promise.all(askUntil(pair, right, history, () => isOver))
    try {
      await history.change(false, revoke)
      for (const at of pair.processes) await history.observe(`${what}, revoked`, () => right.ask(at))
    } finally {
      isOver = true
      await asking
    }
  }
  return lives
}

const tokenLives = async (pair: Pair): Promise<readonly AccessHistory[]> => {
  const person = await newPerson(pair)
  return oneLife(pair, 'a token', async () => {
    const { sha1, id } = await tokenOf(pair.any(), person.login, password)
    return {
      credential: sent(String(sha1)),
      revoke: () =>
        done(pair.any(), 'DELETE', `/api/v1/users/${person.login}/tokens/${String(id)}`, {
          basic: [person.login, password],
        }),
    }
  })
}

const sessionLives = async (pair: Pair): Promise<readonly AccessHistory[]> => {
  const person = await newPerson(pair)
  return oneLife(pair, 'a session', async () => {
    const signedIn = await must(
      200,
      pair.any().send('POST', '/api/v1/user/signin', { body: { username: person.login, password } }),
    )
    const cookies = [signedIn.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0] ?? '')
    const credential = { headers: { Cookie: cookies.filter((cookie) => !cookie.includes('_remember=')).join('; ') } }
    return {
      credential,
      revoke: () => done(pair.any(), 'GET', '/api/v1/user/signout', credential),
    }
  })
}

for (const database of ['mysql', 'sqlite'] as const) {
  test.serial(`${database}: revocations and grants apply at the next request on two processes`, async (t) => {
    await onPair(database, async (pair) => {
      const histories: AccessHistory[] = []
      const [account, actingAs] = await accountRights(pair)
      const single = [...(await organizationRights(pair)), ...(await roleRights(pair))]
      const groups: readonly (readonly [Right, readonly Right[]])[] = [
        [account!, [actingAs!]],
        ...single.map((right) => [right, []] as const),
      ]
      let left = groups.length
      const running = groups.map(async ([right, others]) => {
        const isAllowed = await right.ask(pair.processes[0])
        const pairs = [right, ...others].map((each) => [each, makeAccessHistory(isAllowed)] as const)
        histories.push(...pairs.map(([, history]) => history))
        const [[, history], ...rest] = pairs as [(typeof pairs)[number], ...(typeof pairs)[number][]]
        const asking = pairs.flatMap(([each, of]) => askUntil(pair, each, of, () => left === 0))
        try {
          await changeAndAsk(
            pair,
            right,
            history,
            rest.map(([each, of]) => [each, of]),
          )
        } finally {
          left -= 1
        }
        return Promise.all(asking)
      })
      const lives = [tokenLives(pair), sessionLives(pair)]
      // None may still ask when the processes stop.
      const failed = (await Promise.allSettled([...running, ...lives])).find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
      histories.push(...(await Promise.all(lives)).flat())
      t.deepEqual(
        histories.flatMap((history) => history.faults()),
        [],
      )
      const seen = histories.flatMap(({ observations }) => observations)
      t.true(seen.some(({ isAllowed }) => isAllowed) && seen.some(({ isAllowed }) => !isAllowed))
      t.log(`${seen.length} requests`)
    })
  })
}
