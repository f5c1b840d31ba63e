import type { Knex } from 'knex'
import type { Entrant } from '../../../core/kernel/access.ts'

export type EntrantBind = 'enteringAt' | 'tokenLifeDays'

/** Binds of `lettingIn`. */
export const entrantBinds = ({ at, tokenLifeDays }: Entrant): Readonly<Record<EntrantBind, number>> => ({ enteringAt: at.getTime(), tokenLifeDays })

/**
 * Keeps the organizations `o` that let the member `m` in, by the same rule as `core/kernel/access.ts`: for lists
 * over organizations.
 */
export const lettingIn =
  (k: Knex, p: (name: EntrantBind) => Knex.Value) =>
  (query: Knex.QueryBuilder): void => {
    query
      .where((any) =>
        any
          .whereNull('o.two_factor_from')
          .orWhere('o.two_factor_from', '>', p('enteringAt'))
          .orWhereExists(k('two_factors as f').select('f.user_id').whereRaw('f.user_id = m.user_id').whereNotNull('f.enrolled_at'))
          .orWhereExists(k('robot_accounts as rb').select('rb.id').whereRaw('rb.id = m.user_id')),
      )
      .where((any) => any.where('o.max_token_life_days', 0).orWhere('o.max_token_life_days', '>=', p('tokenLifeDays')))
  }
