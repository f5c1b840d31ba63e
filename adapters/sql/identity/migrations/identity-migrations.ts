import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as accounts } from './0001-accounts.ts'
import { migration as secondFactors } from './0007-second-factors.ts'
import { migration as attempts } from './0008-attempts.ts'
import { migration as remembered } from './0009-remembered.ts'
import { migration as codes } from './0011-codes.ts'
import { migration as site } from './0012-site.ts'
import { migration as avatars } from './0016-avatars.ts'
import { migration as preferences } from './0018-preferences.ts'
import { migration as searchTerms } from './0024-search-terms.ts'
import { migration as interfaceSettings } from './0025-interface.ts'
import { migration as clusterTokens } from './0026-cluster-tokens.ts'

export const identityMigrations: PartMigrations = {
  part: 'identity',
  needs: [],
  migrations: [
    accounts,
    secondFactors,
    attempts,
    remembered,
    codes,
    site,
    avatars,
    preferences,
    searchTerms,
    interfaceSettings,
    clusterTokens,
  ],
}
