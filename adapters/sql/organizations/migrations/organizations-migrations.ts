import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as teams } from './0002-teams.ts'
import { migration as security } from './0013-security.ts'

export const organizationsMigrations: PartMigrations = {
  part: 'organizations',
  needs: ['identity'],
  migrations: [teams, security],
}
