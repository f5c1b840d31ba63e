// process: own - keeps its process busy
import test from 'ava'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { sample as identity, type SamplePerson } from '../identity/sample.ts'
import { samplePassword } from '../support/part-sample.ts'
import type { MadeTenant } from '../support/samples.ts'
import { isForeign, swapsOf, type Swap } from './swaps.ts'
import { changesBetween, rowsOf, startTwoTenants, type TwoTenants } from './two-tenants.ts'

let fixture: TwoTenants
test.before(async () => {
  fixture = await startTwoTenants()
})
test.after.always(() => fixture?.stop())

/** Reads first, what ends things last and the deepest of it first: each request finds what it is about. */
const rank = ({ method, path }: Swap): number => {
  const bare = path.split('?')[0] ?? ''
  if (method === 'GET') return 0
  if (method === 'DELETE') return (/\/orgs\/[^/]+$/.test(bare) ? 4 : 3) - bare.split('/').length / 100
  // This one removes clusters from a set of a hub.
  if (bare.endsWith('/clustersets/remove')) return 1
  return ['/action/remove', '/action/leave', '/remove', '/delete-records'].some((end) => bare.endsWith(end)) ? 2 : 1
}

const swaps = (mine: MadeTenant, theirs: MadeTenant): readonly Swap[] =>
  fixture.service.running.assembly.routes
    .flatMap((route) => swapsOf(route, fixture.service.samples, mine, theirs))
    .sort((a, b) => rank(a) - rank(b))

const send = ({ method, path, body }: Swap, credential: SendOptions): Promise<ServiceAnswer> =>
  fixture.service.send(method, path, { ...credential, ...(body === undefined ? {} : { body }) })

const asMember =
  (member: SamplePerson) =>
  (swap: Swap): SendOptions =>
    swap.wantsPassword ? { basic: [member.login, samplePassword] } : { token: member.token }

const keyOf = ({ routeId, method, words, foreign }: Swap): string =>
  `${routeId}${routeId === 'clusters.proxy' ? ` ${method}` : ''} [${[...words, ...foreign].join(', ')}]`
const told = (swap: Swap, { status, text }: ServiceAnswer): string =>
  `${keyOf(swap)} ${swap.path}: ${status} ${text.slice(0, 300)}`
const isDone = ({ status }: ServiceAnswer): boolean => status >= 200 && status < 400

/** What of the other tenant an answer tells that the request did not say itself. */
const leaks = (swap: Swap, answer: ServiceAnswer, theirs: MadeTenant): readonly string[] => {
  const said = `${swap.path} ${JSON.stringify(swap.body ?? '')}`
  const bytes = `${JSON.stringify(answer.headers)} ${answer.text}`
  return [...theirs.secrets.filter((text) => !said.includes(text)), theirs.text].filter((text) => bytes.includes(text))
}

test.serial('no id of another tenant opens or changes anything in any route', async (t) => {
  const { database, north, south, service } = fixture
  const before = await rowsOf(database, south)
  const traces = south.traces()
  const { harmless } = service.samples
  const wrong: string[] = []
  const unused = new Set(Object.keys(harmless))
  const attackers: readonly (readonly [string, (swap: Swap) => SendOptions])[] = [
    ['owner', asMember(north.of(identity).owner)],
    ['viewer', asMember(north.of(identity).viewer)],
    ['site admin as the owner', () => ({ token: service.adminToken, headers: { Sudo: north.people.owner } })],
  ]
  const all = swaps(north, south).filter(isForeign)
  t.true(all.length > 200)
  for (const [who, credential] of attackers) {
    for (const swap of all) {
      const answer = await send(swap, credential(swap))
      const leaked = leaks(swap, answer, south)
      if (isDone(answer)) unused.delete(keyOf(swap))
      if (leaked.length > 0) wrong.push(`${who}: ${told(swap, answer)} tells ${leaked.join(', ')}`)
      else if (
        answer.status >= 500 ||
        (isDone(answer) && harmless[keyOf(swap)]?.says.test(answer.text.trimEnd()) !== true)
      )
        wrong.push(`${who}: ${told(swap, answer)}`)
    }
  }
  t.deepEqual(wrong, [])
  t.deepEqual([...unused], [], 'what is allowed by name happens')
  t.deepEqual(changesBetween(before, await rowsOf(database, south)), [])
  t.deepEqual(south.traces(), traces, 'no request reached the cluster of the other tenant')
})

test.serial('the same requests without foreign ids succeed', async (t) => {
  const { north, south } = fixture
  const { refusedToOwner, refusedAs } = fixture.service.samples
  const refused: string[] = []
  for (const swap of swaps(south, north).filter((each) => !isForeign(each))) {
    const answer = await send(swap, asMember(south.of(identity).owner)(swap))
    const code = refusedAs(swap.routeId)
    const isExpected =
      code === undefined
        ? refusedToOwner[keyOf(swap)] !== undefined
        : (answer.json as { code?: unknown })?.code === code
    if (!isDone(answer) && !isExpected) refused.push(told(swap, answer))
  }
  t.deepEqual(
    refused,
    [],
    'give the parameter or the body its value in the sample of the part, or the refusal its reason',
  )
})

test.serial('every table belongs to tenants or is shared, as the samples declare', async (t) => {
  const { database, north, service } = fixture
  const owned = Object.keys(north.tables)
  const shared = service.samples.samples.flatMap(({ sharedTables }) => Object.keys(sharedTables ?? {}))
  const tables = await database.query<{ name: string }>((k) => k('sqlite_master').where('type', 'table').select('name'))
  t.deepEqual(
    [...owned, ...shared].sort(),
    tables.map(({ name }) => name).sort(),
    'declare each table once, in `tables` or `sharedTables` of test/<part>/sample.ts',
  )
})
