/** The number of shards of accounts. Two changes whose accounts have one shard wait for each other when they commit. */
const accountShards = 64
/** The row for changes whose accounts the statement does not tell. */
export const everyoneShard = accountShards
/** The row for changes that other people see in the numbers of their followers. */
export const followersShard = accountShards + 1

/** Returns the shard of a user, an organization or a robot account. */
export const shardOf = (accountId: number): number => accountId % accountShards

/** How the changes of a table change what a caller may do, or the profile of the caller. */
export interface AccessTable {
  /**
   * Columns with ids of accounts. What is remembered depends on all accounts of a list in it, so one of each list must
   * be known of the rows that a statement changes. Without one, the change concerns everyone.
   */
  readonly accounts: readonly (readonly string[])[]
  /** Columns that decide nothing: an update of these alone concerns no account. */
  readonly ignored?: readonly string[]
  /** The columns that decide; all but `ignored` by default. */
  readonly decides?: readonly string[]
  /** A new row concerns no account: rows are found by a unique key only, and what was not found is not remembered. */
  readonly isFoundByKey?: true
  /** The deletion of a row deletes rows of other accounts. */
  readonly deletesOfOthers?: true
  /** Columns whose change other people see in the numbers of their followers. */
  readonly shownToFollowers?: readonly string[]
}

/**
 * The tables that decide access: all that the look-ups of callers and objects read, and those whose rows take rows of
 * these with them when they are deleted. `test/composition/access-changes.test.ts` compares the list with the look-ups,
 * with the foreign keys and with every statement.
 */
export const accessTables: Readonly<Record<string, AccessTable>> = {
  accounts: { accounts: [['id']], isFoundByKey: true, deletesOfOthers: true },
  users: {
    accounts: [['id']],
    ignored: ['last_login_at'],
    deletesOfOthers: true,
    shownToFollowers: ['is_active', 'visibility'],
  },
  emails: { accounts: [['user_id']] },
  follows: { accounts: [['user_id'], ['target_id']] },
  access_tokens: { accounts: [['user_id']], ignored: ['last_used_at', 'warned_days'], isFoundByKey: true },
  sessions: { accounts: [['user_id']], ignored: ['last_seen_at', 'idle_expires_at'], isFoundByKey: true },
  // Its deletion deletes sessions of the same user. Nothing else about it decides.
  remembered_logins: { accounts: [['user_id']], decides: ['id', 'user_id'], isFoundByKey: true },
  // It decides the answers to programs that ask about tokens. Its deletion deletes tokens of those who have allowed it.
  oauth_applications: {
    accounts: [['owner_key']],
    ignored: ['logo', 'updated_at', 'version'],
    isFoundByKey: true,
    deletesOfOthers: true,
  },
  two_factors: { accounts: [['user_id']], ignored: ['last_step'] },
  passkeys: { accounts: [['user_id']], ignored: ['name', 'counter', 'is_backed_up', 'last_used_at'] },
  organizations: { accounts: [['id']], deletesOfOthers: true },
  org_members: { accounts: [['user_id', 'org_id']], ignored: ['is_public', 'is_provisioned', 'two_factor_notice'] },
  // It is an object of its organization, and what its own look-ups read.
  robot_accounts: { accounts: [['org_id'], ['id']], ignored: ['description', 'version'] },
  teams: { accounts: [['org_id']] },
  team_members: { accounts: [['user_id', 'org_id']] },
  roles: { accounts: [['org_id']] },
  // The organization of a role is in another table.
  role_permissions: { accounts: [[]] },
  team_roles: { accounts: [['org_id']] },
  object_grants: { accounts: [['org_id']] },
  clusters: { accounts: [['owner_id']], decides: ['id', 'name', 'owner_id', 'version'] },
  contracts: { accounts: [['owner_id']], decides: ['id', 'name', 'owner_id'] },
}
