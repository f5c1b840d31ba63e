import { createServer, type AddressInfo } from 'node:net'
import type { LookupAddress } from 'node:dns'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeUndiciClusterApi } from '../../adapters/kubernetes/cluster-api.ts'
import { makeConnectionPools } from '../../adapters/kubernetes/connections.ts'
import { kindOf, makeEgressPolicy, type AddressKind, type Resolver } from '../../adapters/outbound/egress-policy.ts'
import { secret } from '../../core/kernel/secret.ts'

const kinds: readonly (readonly [string, AddressKind | undefined])[] = [
  ['8.8.8.8', 'public'], ['2606:4700::1111', 'public'], ['10.1.2.3', 'private'], ['172.31.0.1', 'private'], ['192.168.1.1', 'private'],
  ['100.64.0.1', 'private'], ['fd12::1', 'private'], ['127.0.0.1', 'loopback'], ['127.9.9.9', 'loopback'], ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'], ['::ffff:10.0.0.1', 'private'], ['::ffff:8.8.8.8', 'public'],
  ['169.254.169.254', undefined], ['169.254.0.1', undefined], ['fe80::1', undefined], ['::ffff:169.254.169.254', undefined], ['fd00:ec2::254', undefined],
  ['100.100.100.200', undefined], ['168.63.129.16', undefined], ['192.0.0.192', undefined], ['0.0.0.0', undefined], ['::', undefined],
  ['255.255.255.255', undefined], ['224.0.0.1', undefined], ['ff02::1', undefined], ['64:ff9b::7f00:1', undefined], ['2002:7f00:1::', undefined],
  ['::127.0.0.1', undefined], ['::7f00:1', undefined], ['::10.0.0.1', undefined], ['::8.8.8.8', undefined], ['64:ff9b:1::7f00:1', undefined], ['1.2.3', undefined], ['2001::1', undefined], ['240.0.0.1', undefined], ['fe80::1%eth0', undefined], ['not an address', undefined],
]
for (const [address, kind] of kinds) test(`${address} is ${kind ?? 'never allowed'}`, (t) => t.is(kindOf(address), kind))

const everything = makeEgressPolicy(new Set<AddressKind>(['public', 'private', 'loopback']))
for (const url of ['http://10.0.0.1:6443', 'https://user:secret@10.0.0.1', 'ftp://10.0.0.1', 'https://169.254.169.254/', 'https://[fe80::1]/', 'https://[::ffff:169.254.169.254]']) {
  test(`${url} is refused whatever is allowed, without repeating a password`, (t) => {
    const refusal = everything.refusal(new URL(url))
    t.is(typeof refusal, 'string')
    t.false(refusal?.includes('secret'))
  })
}

const answers = (...lists: readonly (readonly string[])[]): Resolver => {
  let call = 0
  return (_hostname, _options, done) => {
    const list = lists[Math.min(call, lists.length - 1)] ?? []
    call += 1
    done(null, list.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })))
  }
}

/** Every way of naming this machine; nothing may reach the socket, which counts. */
const hosts: readonly (readonly [string, Resolver?])[] = [
  ['127.0.0.1'], ['localhost'], ['2130706433'], ['0177.0.0.1'], ['0x7f.1'], ['127.1'], ['[::ffff:127.0.0.1]'], ['[::ffff:7f00:1]'], ['[::1]'], ['0.0.0.0'],
  ['one-private.example', answers(['127.0.0.1'])],
  ['one-of-two.example', answers(['93.184.216.34', '127.0.0.1'])],
  ['mapped.example', answers(['::ffff:127.0.0.1'])],
  ['nat64.example', answers(['64:ff9b::7f00:1'])],
  ['rebinding.example', answers(['127.0.0.1'], ['127.0.0.1'])],
]
for (const [host, resolver] of hosts) {
  test(`nothing is connected to by the name ${host} when loopback is not allowed`, async (t) => {
    let reached = 0
    const server = createServer((socket) => {
      reached += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const allowed = new Set<AddressKind>(['public', 'private'])
    const egress = resolver === undefined ? makeEgressPolicy(allowed) : makeEgressPolicy(allowed, resolver)
    const pools = makeConnectionPools(egress)
    const api = makeUndiciClusterApi(pools, egress)
    const credential = { server: `https://${host}:${port}`, authorityPem: undefined, tlsServerName: undefined, identity: { kind: 'token', token: secret('t') } } as const
    const surveyed = await api.survey(credential, new AbortController().signal)
    t.true(isLeft(surveyed))
    if (isLeft(surveyed)) t.is(surveyed.left.tag, 'AddressRefused')
    t.is(reached, 0)
    await pools.close()
    await new Promise((resolve) => server.close(resolve))
  })
}

test('the connection goes to the address that was checked, not to a second answer', async (t) => {
  let asked = 0
  const resolver: Resolver = (_hostname, _options, done) => {
    asked += 1
    // Refused port on an allowed address first; a rebound name would lead elsewhere.
    done(null, [{ address: asked === 1 ? '127.0.0.1' : '10.255.255.1', family: 4 }])
  }
  const egress = makeEgressPolicy(new Set<AddressKind>(['loopback']), resolver)
  const resolved = await new Promise<unknown>((resolve) => egress.lookup('name.example', { all: true }, (_error, addresses) => resolve(addresses)))
  t.deepEqual(resolved, [{ address: '127.0.0.1', family: 4 }])
  const refused = await new Promise<unknown>((resolve) => egress.lookup('name.example', { all: true }, (error) => resolve(error)))
  t.is((refused as { code?: string }).code, 'EGRESS_REFUSED')
})
