import test from 'ava'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { AccessDenied } from '../../core/authz/ports.ts'
import type { OpenAuthority } from '../../core/contracts/authorities.ts'
import type { IssueDeps, IssuedLicense } from '../../core/contracts/licenses.ts'
import { makeIssueLicense, QuotaReached } from '../../core/contracts/licenses.ts'
import { makeIssueForMachine } from '../../core/contracts/machine-licenses.ts'
import type { ContractStores } from '../../core/contracts/ports.ts'
import type { BoundCluster, Contract, ContractClusterId, ContractId, License } from '../../core/contracts/types.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { unwrap } from '../support/outcome.ts'

/** The order of refusals, and races that no request over HTTP can be made to hit. */

const now = new Date('2028-02-29T23:59:59Z')
const day = 86_400_000
const uid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'
const call = { principal: { userId: 1, login: 'ann' } } as unknown as SignedInCall<IssuedLicense>
const contractOf = (changes: Partial<Contract> = {}): Contract =>
  ({
    id: 42,
    ownerId: 7,
    ownerName: 'acme',
    product: 'db',
    features: ['db-basic'],
    emails: { licenseUsers: ['ü@example.com', 'ops@example.com'], contactPerson: [] },
    quota: { enabled: true, limit: 10, disableLicenseOnLimitReached: true },
    startsAt: new Date(now.getTime() - day),
    endsAt: new Date(now.getTime() + 30 * day),
    allowsOffline: true,
    restrictions: '',
    revokedAt: undefined,
    version: 1,
    ...changes,
  }) as unknown as Contract
const binding = { id: 3, contractId: 42, ownerId: 7, clusterUid: uid } as unknown as BoundCluster
const key = { ownerId: 7 as AccountId, id: 42 as ContractId, clusterId: 3 as ContractClusterId }

interface Fixture {
  readonly contract?: Contract
  readonly used?: number
  /** The contract as each transaction finds it. */
  readonly locked?: readonly Contract[]
}
const fixture = ({ contract = contractOf(), used = 0, locked = [] }: Fixture) => {
  const [stored, licensees, versions]: [License[], string[], Contract[]] = [[], [], [...locked]]
  const authority: OpenAuthority = {
    id: 1,
    certificatePem: '',
    key: secret(''),
    notBefore: new Date(0),
    notAfter: new Date(now.getTime() + 365 * day),
  }
  let current = contract
  const licenses = {
    findNewest: async () => stored.at(-1),
    insert: async (license: License) => void stored.push(license),
  }
  const stores = {
    contracts: { lock: async () => [(current = versions.shift() ?? current)] },
    bindings: { find: async () => binding },
    licenses,
    events: { record: async () => undefined },
    audit: { record: async () => undefined },
  } as unknown as ContractStores
  const deps = {
    authorities: { current: async () => right(authority) },
    bindings: { find: async () => binding },
    clock: { now: () => now },
    contracts: { get: async () => current },
    licenses,
    quotaUsage: { usedThisMonth: async () => used },
    signer: {
      contentKey: () => 'same',
      sign: async (_: unknown, content: { licensee: string }) => {
        licensees.push(content.licensee)
        return { serial: String(licensees.length), certificatePem: '' }
      },
    },
    unitOfWork: { run: async (_: unknown, work: (given: ContractStores) => unknown) => work(stores) },
    users: { byId: async () => undefined },
  } as unknown as IssueDeps
  return { stored, licensees, issue: makeIssueLicense(deps) }
}
const tagOf = async (given: Fixture, kind: 'offline' | 'online' = 'offline'): Promise<string> => {
  const outcome = await fixture(given).issue(call, { ...key, kind })
  return isLeft(outcome) ? outcome.left.tag : 'issued'
}

test("the contract's state is checked before its quota, to the last unit", async (t) => {
  t.is(await tagOf({ contract: contractOf({ revokedAt: now }), used: 10 }), 'LicenseProhibited')
  t.is(await tagOf({ contract: contractOf({ allowsOffline: false }), used: 10 }), 'LicenseProhibited')
  t.is(await tagOf({ contract: contractOf({ allowsOffline: false }), used: 10 }, 'online'), 'QuotaReached')
  t.deepEqual([await tagOf({ used: 9.999 }), await tagOf({ used: 10 })], ['issued', 'QuotaReached'])
  t.is(
    await tagOf({
      used: 10,
      contract: contractOf({ quota: { ...contractOf().quota, disableLicenseOnLimitReached: false } }),
    }),
    'issued',
  )
})

test('a contract is in force from its first second to the last one before its end', async (t) => {
  t.is(await tagOf({ contract: contractOf({ startsAt: now }) }), 'issued')
  t.is(await tagOf({ contract: contractOf({ startsAt: new Date(now.getTime() + 1000) }) }), 'LicenseProhibited')
  t.is(await tagOf({ contract: contractOf({ endsAt: new Date(now.getTime() + 1000) }) }), 'issued')
  t.is(await tagOf({ contract: contractOf({ endsAt: now }) }), 'LicenseProhibited')
})

test('a contract that changes during the request is read again', async (t) => {
  const later = (days: number): Contract => contractOf({ version: days, endsAt: new Date(now.getTime() + days * day) })
  const changed = fixture({ locked: [later(31)] })
  unwrap(await changed.issue(call, { ...key, kind: 'offline' }))
  t.is(changed.stored.length, 1)
  t.deepEqual(changed.licensees, ['ops@example.com', 'ops@example.com'], 'an address outside of ASCII is left out')
  t.is(await tagOf({ locked: [contractOf({ version: 2, revokedAt: now })] }), 'LicenseProhibited')
  t.is(await tagOf({ locked: [31, 32, 33].map(later) }), 'ContractChanged')
  const other = fixture({ locked: [contractOf({ version: 2, name: 'Another name' })] })
  unwrap(await other.issue(call, { ...key, kind: 'offline' }))
  t.is(other.licensees.length, 1, 'a change that a license does not show is none')
})

test('the next contract issues when the quota of the first is used up', async (t) => {
  const of = (id: number, ownerName = 'acme') => ({
    contract: contractOf({ id: id as ContractId, ownerName }),
    clusterId: id as ContractClusterId,
  })
  const ask = async (full: readonly number[]): Promise<readonly (number | string)[]> => {
    const asked: (number | string)[] = []
    const issue = makeIssueForMachine({
      authorizer: {
        authorize: async (_, { account }) => (account === 'acme' ? right({} as AccessGrant) : left(AccessDenied('no'))),
      },
      bindings: { listContractsOf: async () => [of(9, 'foreign'), of(1), of(2)] },
      clock: { now: () => now },
      issue: async (_, { id }) => {
        asked.push(id)
        return full.includes(id)
          ? left(QuotaReached('full'))
          : right({ contract: of(id).contract, license: {} as License })
      },
    })
    const outcome = await issue(call, { cluster: uid, features: ['db-basic'] })
    return [...asked, isLeft(outcome) ? outcome.left.tag : 'issued']
  }
  t.deepEqual(await ask([]), [1, 'issued'])
  t.deepEqual(await ask([1]), [1, 2, 'issued'])
  t.deepEqual(await ask([1, 2]), [1, 2, 'QuotaReached'])
})
