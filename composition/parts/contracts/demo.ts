import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeAddAuthority } from '../../../core/contracts/authorities.ts'
import { recordBound, recordEvent } from '../../../core/contracts/contracts.ts'
import {
  AuthorityStorePort,
  BindingStorePort,
  ContractUnitOfWorkPort,
  LicenseSignerPort,
} from '../../../core/contracts/ports.ts'
import type { ContractId, ContractTerms } from '../../../core/contracts/types.ts'
import { newDetails, newTerms } from '../../../core/contracts/types.ts'
import { ClockPort, laterByDays } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import type { DemoOrganization, DemoSeeder, DemoWorld } from '../../part/part.ts'
import { operatorCall } from '../../part/operator.ts'

/** Before the first month of usage. */
const begunBefore = 150
const endsAfter = 300

const termsOf = (now: Date, name: string): ContractTerms => ({
  ...newTerms,
  ...newDetails,
  name,
  product: 'database',
  features: ['database-enterprise'],
  quota: {
    enabled: true,
    metric: 'cpu_core_month',
    limit: 100,
    alertThresholds: [80],
    disableLicenseOnLimitReached: false,
  },
  startsAt: laterByDays(now, -begunBefore),
  endsAt: laterByDays(now, endsAfter),
  allowsOffline: true,
  allowsTrials: true,
  maxTrials: 1000,
  enablesClientBilling: true,
})

/** Inserts a contract that began some months ago, to which the clusters are bound since then. */
const insertContract = async (
  world: DemoWorld,
  { name, fullName, clusters }: DemoOrganization,
): Promise<ContractId> => {
  const { container, now } = world
  const ownerId = (await world.idOf(name)) as AccountId
  const terms = termsOf(now, `Databases for ${fullName}`)
  const inserted = await container
    .resolve(ContractUnitOfWorkPort)
    .run(operatorCall('demo.seed'), async ({ contracts, bindings, events, audit }) => {
      const id = await contracts.insert(ownerId, terms, terms.startsAt, 'demo')
      const bound = clusters.map(({ uid, displayName }) => ({ clusterUid: uid, displayName }))
      await bindings.add({ id, ownerId }, bound, terms.startsAt)
      const contract = { id, ownerId, name: terms.name }
      const change = { by: 'demo', at: terms.startsAt }
      await recordEvent({ events, audit }, contract, { ...change, event: 'contract.created' })
      await recordBound({ events, audit }, contract, { ...change, clusters: bound.map(({ clusterUid }) => clusterUid) })
      return right(id)
    })
  if (isLeft(inserted)) throw new Error('The contract was refused.')
  return inserted.right
}

/** A contract of each customer, and an offline license of each of their clusters. */
export const seedContracts: DemoSeeder = async (world) => {
  const { container } = world
  const added = await makeAddAuthority({
    authorities: container.resolve(AuthorityStorePort),
    clock: container.resolve(ClockPort),
    entropy: container.resolve(EntropyPort),
    secretBox: container.resolve(SecretBoxPort),
    signer: container.resolve(LicenseSignerPort),
    unitOfWork: container.resolve(ContractUnitOfWorkPort),
  })(operatorCall('demo.seed'), { organization: world.vendor.fullName, own: undefined, rotate: false })
  if (isLeft(added)) throw new Error(added.left.message)
  for (const customer of world.customers) {
    world.tell(`contract of ${customer.name}`)
    const id = await insertContract(world, customer)
    const bound = await container.resolve(BindingStorePort).listOf(id, { page: 1, limit: 50 })
    for (const binding of bound.items) await world.send('POST', `/contracts/${id}/clusters/${binding.id}/issue-license`)
  }
}
