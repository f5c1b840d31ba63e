/** The database's clock in milliseconds since the epoch, as SQL for use inside statements. */
export const databaseNow = (dialect: 'sqlite' | 'mysql'): string =>
  dialect === 'sqlite' ? "cast(round(unixepoch('subsec') * 1000) as integer)" : 'cast(unix_timestamp(now(3)) * 1000 as signed)'
