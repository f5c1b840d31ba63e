import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as accounts } from './0015-accounts.ts'

export const busMigrations: PartMigrations = {
  part: 'bus',
  needs: [],
  migrations: [accounts],
}
