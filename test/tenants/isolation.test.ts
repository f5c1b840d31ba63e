import test from 'ava'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { harmless, refusedToOwner } from './expected-answers.ts'
import { isForeign, isOfHub, swapsOf, type Swap } from './swaps.ts'
import { memberPassword, rowsOf, startTwoTenants, type Member, type Tenant, type TwoTenants } from './two-tenants.ts'

let world: TwoTenants
test.before(async () => {
  world = await startTwoTenants()
})
test.after.always(() => world?.stop())

/** Reads first, what ends things last and the deepest of it first: each request finds what it is about. */
const rank = ({ method, path }: Swap): number => {
  const bare = path.split('?')[0] ?? ''
  if (method === 'GET') return 0
  if (method === 'DELETE') return (/\/orgs\/[^/]+$/.test(bare) ? 4 : 3) - bare.split('/').length / 100
  // This one removes clusters from a set of a hub.
  if (bare.endsWith('/clustersets/remove')) return 1
  return ['/action/remove', '/action/leave', '/remove', '/delete-records'].some((end) => bare.endsWith(end)) ? 2 : 1
}

const swaps = (mine: Tenant, theirs: Tenant): readonly Swap[] =>
  world.service.running.assembly.routes
    .flatMap((route) => swapsOf(route, mine, theirs))
    .sort((a, b) => rank(a) - rank(b))

const send = ({ method, path, body }: Swap, credential: SendOptions): Promise<ServiceAnswer> =>
  world.service.send(method, path, { ...credential, ...(body === undefined ? {} : { body }) })

const asMember =
  (member: Member) =>
  (swap: Swap): SendOptions =>
    swap.wantsPassword ? { basic: [member.login, memberPassword] } : { token: member.token }

const keyOf = ({ routeId, method, foreign }: Swap): string =>
  `${routeId}${routeId === 'clusters.proxy' ? ` ${method}` : ''} [${foreign.join(', ')}]`
const told = (swap: Swap, { status, text }: ServiceAnswer): string =>
  `${keyOf(swap)} ${swap.path}: ${status} ${text.slice(0, 300)}`
const isDone = ({ status }: ServiceAnswer): boolean => status >= 200 && status < 400

/** What of the other tenant an answer tells that the request did not say itself. */
const leaks = (swap: Swap, answer: ServiceAnswer, theirs: Tenant): readonly string[] => {
  const said = `${swap.path} ${JSON.stringify(swap.body ?? '')}`
  const bytes = `${JSON.stringify(answer.headers)} ${answer.text}`
  const names = [
    theirs.org,
    theirs.owner.login,
    theirs.viewer.login,
    theirs.cluster,
    theirs.kubernetes.uid,
    theirs.kubernetes.url,
    theirs.kubernetes.token,
  ]
  return [...names.filter((name) => !said.includes(name)), theirs.canary].filter((name) => bytes.includes(name))
}

test.serial(
  'no id or name of the other tenant, in any place of any route, opens, tells or changes anything of it',
  async (t) => {
    const { database, north, south, service } = world
    const before = await rowsOf(database, south)
    const seen = south.kubernetes.seen.length
    const wrong: string[] = []
    const unused = new Set(Object.keys(harmless))
    const attackers: readonly (readonly [string, (swap: Swap) => SendOptions])[] = [
      ['owner', asMember(north.owner)],
      ['viewer', asMember(north.viewer)],
      ['site admin as the owner', () => ({ token: service.adminToken, headers: { Sudo: north.owner.login } })],
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
    t.deepEqual(await rowsOf(database, south), before)
    t.is(south.kubernetes.seen.length, seen, 'no request reached the cluster of the other tenant')
  },
)

test.serial(
  'the same requests with nothing foreign in them succeed: it was the foreign that was refused',
  async (t) => {
    const { north, south } = world
    const refused: string[] = []
    for (const swap of swaps(south, north).filter((each) => !isForeign(each))) {
      const answer = await send(swap, asMember(south.owner)(swap))
      const isExpected = isOfHub(swap.routeId)
        ? (answer.json as { code?: unknown })?.code === 'NotAHub'
        : refusedToOwner[keyOf(swap)] !== undefined
      if (!isDone(answer) && !isExpected) refused.push(told(swap, answer))
    }
    t.deepEqual(
      refused,
      [],
      'give the parameter or the body its value in test/tenants/swaps.ts, or the refusal its reason in test/tenants/expected-answers.ts',
    )
  },
)
