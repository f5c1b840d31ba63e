import type { Contract } from '../../contracts/types.ts'
import { secondOf } from '../month.ts'
import type { UnixSeconds, UsageProduct } from '../types.ts'
import type { Span } from './presence.ts'
import type { Coverage } from './segments.ts'

/** The first words of the product and the features of contracts that cover a product whose usage is reported. */
const words: Readonly<Record<UsageProduct, readonly string[]>> = {
  dbProduct: ['database', 'databases', 'db'],
  backupProduct: ['backup', 'backups'],
  vaultProduct: ['vault', 'secrets'],
  ingressProduct: ['ingress', 'gateway'],
}

/** Reports whether a contract covers a product: the first word of its product or of one of its features names it, as in `database-enterprise`. */
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

/** Returns when a contract is in force: from its start to its end or revocation. Instants are rounded down to seconds. */
export const inForceOf = ({ startsAt, endsAt, revokedAt }: Pick<Contract, 'startsAt' | 'endsAt' | 'revokedAt'>): Span => ({
  from: secondOf(startsAt),
  to: Math.min(secondOf(endsAt), revokedAt === undefined ? endOfTime : secondOf(revokedAt)) as UnixSeconds,
})

/**
 * Returns when a contract covers a cluster by a binding: from the later of its start and the beginning of the binding to the earliest of its
 * end, its revocation and the end of the binding. Instants are rounded down to seconds.
 */
export const coverageOf = (contract: Pick<Contract, 'id' | 'startsAt' | 'endsAt' | 'revokedAt'>, { boundFrom, boundTo }: BindingTime): Coverage => {
  const { from, to } = inForceOf(contract)
  return {
    contractId: contract.id,
    boundFrom: secondOf(boundFrom),
    from: Math.max(from, secondOf(boundFrom)) as UnixSeconds,
    to: (boundTo === undefined ? to : Math.min(to, secondOf(boundTo))) as UnixSeconds,
  }
}
