import test, { type ExecutionContext } from 'ava'
import { makeDoor, type Door } from '../../adapters/clouds/sdk.ts'
import { EgressRefused, makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { startEmulator, type Emulator } from './emulator.ts'
import { surroundWithTraps } from './hostile-surroundings.ts'

surroundWithTraps()

let emulator: Emulator
const toVendors = makeDoor(makeEgressPolicy(new Set(['public'])), false)
const toOperators = makeDoor(makeEgressPolicy(new Set(['loopback', 'private', 'public'])), true)

test.before(async () => {
  emulator = await startEmulator(async (call) => (call.url.pathname === '/moved' ? { status: 302, headers: { location: '/elsewhere' } } : { status: 200, body: '{"ok":true}' }))
})
test.after.always(() => Promise.all([emulator.stop(), toVendors.close(), toOperators.close()]))

const refuses = async (t: ExecutionContext, door: Door, url: string): Promise<void> => {
  t.throws(() => door.check(new URL(url)), { instanceOf: EgressRefused }, url)
  await t.throwsAsync(door.fetch(url), { instanceOf: EgressRefused }, url)
}

test.serial('the way to the vendors takes neither plain http, nor a password, nor an address that is not public', async (t) => {
  for (const url of [emulator.origin, 'http://s3.amazonaws.com', 'https://a:b@s3.amazonaws.com', 'https://127.0.0.1', 'https://[::1]', 'https://10.0.0.1', 'https://169.254.169.254', 'https://[fd00:ec2::254]', 'https://0x7f000001']) await refuses(t, toVendors, url)
  t.is(emulator.seen.length, 0)
})

test.serial('an endpoint of the operator may be plain and near, and metadata addresses stay refused', async (t) => {
  t.deepEqual(await (await toOperators.fetch(emulator.origin)).json(), { ok: true })
  for (const url of ['http://169.254.169.254/latest/meta-data', 'http://[fd00:ec2::254]', 'http://100.100.100.200', 'ftp://127.0.0.1', 'http://a:b@127.0.0.1']) await refuses(t, toOperators, url)
})

test.serial('a redirect is an answer, not an order', async (t) => {
  t.is((await toOperators.fetch(`${emulator.origin}/moved`)).status, 302)
  t.deepEqual(emulator.seen.filter(({ url }) => url.pathname === '/elsewhere'), [])
})
