import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as drivers } from './0021-drivers.ts'

export const packagesMigrations: PartMigrations = {
  part: 'packages',
  needs: ['identity'],
  migrations: [drivers],
}
