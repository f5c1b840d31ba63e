import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as subscriptions } from './0050-subscriptions.ts'

export const marketplaceMigrations: PartMigrations = { part: 'marketplace', needs: [], migrations: [subscriptions] }
