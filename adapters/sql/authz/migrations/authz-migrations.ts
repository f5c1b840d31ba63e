import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as roles } from './0003-roles.ts'

export const authzMigrations: PartMigrations = {
  part: 'authz',
  needs: ['organizations'],
  migrations: [roles],
}
