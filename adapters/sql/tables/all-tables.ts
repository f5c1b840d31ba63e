import * as audit from './audit.ts'
import * as authz from './authz.ts'
import * as bus from './bus.ts'
import * as clientOrgs from './client-orgs.ts'
import * as clouds from './clouds.ts'
import * as clusters from './clusters.ts'
import * as contracts from './contracts.ts'
import * as identity from './identity.ts'
import * as kernel from './kernel.ts'
import * as mail from './mail.ts'
import * as marketplace from './marketplace.ts'
import * as metricsProxy from './metrics-proxy.ts'
import * as organizations from './organizations.ts'
import * as packages from './packages.ts'
import * as tasks from './tasks.ts'
import * as usage from './usage.ts'
import type { Table } from '../kit/columns.ts'
import { columnsOf, tableName } from '../kit/columns.ts'

/**
 * The tables of each part, with those of a smaller part that belongs to it. A test compares them with the schema after
 * all migrations.
 */
export const tablesByPart = {
  audit,
  authz,
  bus,
  clientOrgs,
  clouds,
  clusters,
  contracts,
  identity,
  kernel,
  mail,
  marketplace,
  metricsProxy,
  organizations,
  packages,
  tasks,
  usage,
}

/** Every declared table. */
export const allTables: readonly Table[] = Object.values(tablesByPart).flatMap((part): Table[] => Object.values(part))

/** A column of sealed bytes, by names of the database. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The primary key of the table, which is one column. */
  readonly key: string
}

/**
 * Returns every column with bytes that are sealed with a key of the key ring. The first column of a declaration with
 * such a column is the primary key.
 */
export const sealedColumns = (): readonly SealedColumn[] =>
  allTables.flatMap((table) => {
    const columns = Object.values(columnsOf(table))
    const [key = { name: 'id' }] = columns
    return columns.flatMap(({ isSealed, name }) =>
      isSealed ? [{ table: tableName(table), column: name, key: key.name }] : [],
    )
  })
