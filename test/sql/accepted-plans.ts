/** Tables whose number of rows does not grow with use, and why. */
export const bounded: Readonly<Record<string, string>> = {
  access_revisions: 'one row for each of a fixed number of shards',
  instances: 'one row for each process of the service',
  allowed_domains: 'entered by an operator',
  license_authorities: 'one row for each rotation by an operator',
  site_settings: 'one row for each setting',
  rating_sinks: 'entered by site admins, one for each billing engine',
  rating_issuers: 'entered by site admins, one for each company that sells',
}

/** A statement that reads a whole table, on purpose. */
export interface AcceptedScan {
  /** A part of its text. */
  readonly part: string
  readonly reason: string
}

export const scans: readonly AcceptedScan[] = [
  { part: 'select count(*) as `total` from `users`', reason: 'the summary of the site counts; only site admins' },
  { part: 'select count(*) as `total` from `organizations`', reason: 'the summary of the site counts' },
  { part: 'select count(*) as `total` from `teams`', reason: 'the summary of the site counts' },
  { part: 'select count(*) as `total` from `clusters`', reason: 'the summary of the site counts' },
  { part: 'select count(*) as `total` from `sessions`', reason: 'the summary of the site counts' },
  { part: 'select count(*) as `total` from `access_tokens`', reason: 'the summary of the site counts' },
  {
    part: '(select 1 from `users` as `u` where `u`.`robot_org_id` is null limit ?)',
    reason: 'stops after 10,000 people; robots are few beside them',
  },
  {
    part: '`u`.`is_active` = coalesce(?, `u`.`is_active`)',
    reason: 'several optional filters of the users of the site, in any combination; only site admins',
  },
  {
    part: '(select 1 from `organizations` as `o` where `o`.`visibility` in (?, ?, ?) limit ?)',
    reason: 'stops after 10,000; nearly every organization matches',
  },
  {
    part: '(select 1 from `organizations` as `o` where not exists (select 1 from `team_members` as `tm`',
    reason: 'an organization without owners has no mark; only site admins',
  },
  {
    part: '(select 1 from `clusters` as `c` limit ?)',
    reason: 'in the order of the names of owners, of which those without clusters are passed; only site admins',
  },
  {
    part: 'inner join `client_orgs` as `co` on `co`.`org_id` = `o`.`id` where not `co`.`state` = +? and exists',
    reason: 'client organizations of one hub; only site admins',
  },
]

/** Filters that are decided by looking at rows, by route and parameter, and why that ends. */
export const unindexedFilters: Readonly<Record<string, string>> = {
  'audit.exportEvents since': 'ids grow with time: the rows begin at the first one since then',
  'audit.exportOrganizationEvents since': 'ids grow with time: the rows begin at the first one since then',
  'audit.listEvents since': 'ids grow with time, and a page examines 10,000 rows at most',
  'clusters.listOwnerClusters sort': 'the clusters of one account are sorted, some ten thousand at most',
  'contracts.listContractsOfCluster onlyOffline': 'contracts of one account with one cluster',
  'tasks.list cluster': 'ended tasks beyond a number for each account are removed',
  'tasks.list kind': 'ended tasks beyond a number for each account are removed',
  'tasks.list state': 'ended tasks beyond a number for each account are removed',
  'usage.getOutageReport account_id': 'outages are entered by site admins, and the report has a bound',
  'usage.getOutageReport cluster_id': 'outages are entered by site admins, and the report has a bound',
}
