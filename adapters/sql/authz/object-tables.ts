/** Where the objects of a type stand, and which column names the account that owns them. */
export interface ObjectTable {
  readonly table: string
  readonly owner: string
}

/** Types whose objects an account owns. A part that brings a type with rows of its own adds its line here. */
export const objectTables: Readonly<Record<string, ObjectTable>> = {
  team: { table: 'teams', owner: 'org_id' },
  role: { table: 'roles', owner: 'org_id' },
  cluster: { table: 'clusters', owner: 'owner_id' },
  robot_ac: { table: 'robot_accounts', owner: 'org_id' },
}
