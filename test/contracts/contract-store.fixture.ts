import { randomUUID } from 'node:crypto'
import type { BindingStore, ContractStore } from '../../core/contracts/ports.ts'
import type { Contract, ContractTerms } from '../../core/contracts/types.ts'
import { newDetails, newTerms } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'

export const owner = 11 as AccountId
export const otherOwner = 12 as AccountId
export const at = new Date('2026-05-01T08:00:00.000Z')
export const later = new Date('2026-05-02T08:00:00.000Z')
export const firstPage = { page: 1, limit: 30 }
const milliseconds = 86_400_000
export const days = (count: number): Date => new Date(at.getTime() + count * milliseconds)

export const terms = (changes: Partial<ContractTerms> = {}): ContractTerms => ({
  ...newTerms,
  ...newDetails,
  name: 'Databases',
  product: 'database',
  features: ['db-backup', 'db-basic'],
  emails: {
    contactPerson: ['ann@example.com'],
    signingAuthority: [],
    licenseUsers: [],
    financeTeam: [],
    usageAlertClient: [],
    usageAlertAdmin: ['sales@example.com'],
  },
  quota: {
    enabled: true,
    metric: 'cpu_core_month',
    limit: 12.5,
    alertThresholds: [80, 100],
    disableLicenseOnLimitReached: true,
  },
  startsAt: days(-1),
  endsAt: days(30),
  allowsOffline: true,
  allowsTrials: true,
  maxTrials: 3,
  bindsNewClusters: false,
  disablesAnalytics: true,
  enablesClientBilling: false,
  restrictions: '{"offlineTtlDays":30}',
  ...changes,
})

export const inserted = async (
  { contracts }: { readonly contracts: ContractStore },
  ownerId: AccountId,
  changes: Partial<ContractTerms> = {},
): Promise<Contract> => {
  const id = await contracts.insert(ownerId, terms(changes), at)
  const contract = await contracts.get(ownerId, id)
  if (contract === undefined) throw new Error('The contract that was inserted does not exist.')
  return contract
}
export const idsOf = ({ items }: { readonly items: readonly { readonly id: number }[] }): readonly number[] =>
  items.map(({ id }) => id)
export const bound = async (
  { bindings }: { readonly bindings: BindingStore },
  contract: Contract,
  ...uids: readonly string[]
) => {
  await bindings.add(
    contract,
    uids.map((clusterUid) => ({ clusterUid, displayName: `cluster ${clusterUid}` })),
    at,
  )
  return (await bindings.listOf(contract.id, { page: 1, limit: 1000 })).items
}
/** UIDs in ascending order. */
export const sortedUids = (count: number): readonly string[] => Array.from({ length: count }, () => randomUUID()).sort()
