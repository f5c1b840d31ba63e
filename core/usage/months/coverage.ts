import type { Contract, TermsVersion } from '../../contracts/types.ts'
import { secondOf } from '../month.ts'
import type { BilledContract, UnixSeconds, UsageProduct } from '../types.ts'
import type { Span } from './presence.ts'
import type { Coverage } from './segments.ts'

/** The first words of the product and the features of contracts that cover a product whose usage is reported. */
const words: Readonly<Record<UsageProduct, readonly string[]>> = {
  dbProduct: ['database', 'databases', 'db'],
  backupProduct: ['backup', 'backups'],
  vaultProduct: ['vault', 'secrets'],
  ingressProduct: ['ingress', 'gateway'],
}

/**
 * Reports whether a contract covers a product: the first word of its product or of one of its features names it, as in
 * `database-enterprise`.
 */
export const covers = ({ product, features }: Pick<Contract, 'product' | 'features'>, of: UsageProduct): boolean =>
  [product, ...features].some((name) => words[of].includes(name.split(/[-.]/, 1)[0] ?? ''))

/** From when to when a cluster was bound to a contract. */
export interface BindingTime {
  readonly contractId: number
  readonly clusterUid: string
  readonly boundFrom: Date
  /** Undefined while it is bound. */
  readonly boundTo: Date | undefined
}

const endOfTime = Number.MAX_SAFE_INTEGER as UnixSeconds

const earliest = (...instants: readonly (Date | undefined)[]): UnixSeconds =>
  Math.min(
    endOfTime,
    ...instants.flatMap((instant) => (instant === undefined ? [] : [secondOf(instant)])),
  ) as UnixSeconds

/**
 * Returns when a contract is in force by a version of its terms: from the later of the start and the beginning of the
 * version to the earliest of the end, the revocation and the end of the version. Instants are rounded down to seconds.
 */
export const inForceOf = (
  { revokedAt }: Pick<Contract, 'revokedAt'>,
  { startsAt, endsAt, from, to }: Pick<TermsVersion, 'startsAt' | 'endsAt' | 'from' | 'to'>,
): Span => ({
  from: Math.max(secondOf(startsAt), secondOf(from)) as UnixSeconds,
  to: earliest(endsAt, revokedAt, to),
})

/**
 * Returns when a contract covers a cluster by a binding and a version of its terms: while it is in force by it and the
 * cluster is bound.
 *
 * @internal
 */
export const coverageOf = (
  contract: Pick<Contract, 'id' | 'revokedAt'>,
  version: Pick<TermsVersion, 'number' | 'startsAt' | 'endsAt' | 'from' | 'to'>,
  { boundFrom, boundTo }: BindingTime,
): Coverage => {
  const { from, to } = inForceOf(contract, version)
  return {
    contractId: contract.id,
    termsNumber: version.number,
    boundFrom: secondOf(boundFrom),
    from: Math.max(from, secondOf(boundFrom)) as UnixSeconds,
    to: boundTo === undefined ? to : (Math.min(to, secondOf(boundTo)) as UnixSeconds),
  }
}

/**
 * Returns when contracts cover a product on the cluster of these bindings, by the versions of their terms that name it.
 */
export const coveragesOf = (
  contracts: readonly BilledContract[],
  bindings: readonly BindingTime[],
  product: UsageProduct,
): readonly Coverage[] => {
  const known = new Map<number, BilledContract>(contracts.map((contract) => [contract.id, contract]))
  return bindings.flatMap((binding) => {
    const contract = known.get(binding.contractId)
    return contract === undefined
      ? []
      : contract.timeline
          .filter((version) => covers(version, product))
          .map((version) => coverageOf(contract, version, binding))
  })
}
