import type { Contract } from '../../contracts/types.ts'
import { inForceOf } from './coverage.ts'
import type { ContractInMonth } from './usage-types.ts'

/** Returns what reports show of the terms of a contract. It is the only place where they are read for reports. */
export const termsShown = (contract: Contract): ContractInMonth => {
  const { id, name, product, features, quota } = contract
  const { from, to } = inForceOf(contract)
  return { id, name, product, features, from, to, quota: quota.enabled ? { metric: quota.metric, limit: quota.limit } : undefined }
}
