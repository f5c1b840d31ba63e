import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as credentials } from './0014-credentials.ts'

export const cloudsMigrations: PartMigrations = {
  part: 'clouds',
  needs: ['identity'],
  migrations: [credentials],
}
