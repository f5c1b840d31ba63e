import test from 'ava'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { isForeign, swapsOf, type Swap } from './swaps.ts'
import { memberPassword, rowsOf, startTwoTenants, type Member, type TwoTenants } from './two-tenants.ts'

let world: TwoTenants
test.before(async () => {
  world = await startTwoTenants()
})
test.after.always(() => world?.stop())

const send = (swap: Swap, credential: SendOptions): Promise<ServiceAnswer> =>
  world.service.send(swap.method, swap.path, { ...credential, ...(swap.body === undefined ? {} : { body: swap.body }) })

const told = (swap: Swap, answer: ServiceAnswer): string => `${swap.routeId} [${swap.foreign.join(', ')}] ${swap.method} ${swap.path}: ${answer.status} ${answer.text.slice(0, 200)}`

test('x', async (t) => {
  const { service, north, south } = world
  const all = service.running.assembly.routes.flatMap((route) => swapsOf(route, north, south)).filter(isForeign)
  const asMember = (member: Member, swap: Swap): SendOptions => (swap.wantsPassword ? { basic: [member.login, memberPassword] } : { token: member.token })
  const before = await rowsOf(world.database, south)
  t.log(all.length)
  for (const swap of all) {
    const answer = await send(swap, asMember(north.owner, swap))
    if (answer.status < 300 || answer.status >= 500 || answer.text.includes(south.canary)) t.log(told(swap, answer))
  }
  t.deepEqual(await rowsOf(world.database, south), before)
})
