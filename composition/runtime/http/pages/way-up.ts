/**
 * Returns the way from a path to the root of the host, such as `../../`. With it a page finds its files also where a
 * reverse proxy serves the host below a path of its own.
 * @param endsInSlash whether the path was sent with a slash at its end, which `path` has not
 */
export const wayUp = (path: string, endsInSlash: boolean): string => {
  const depth = path === '/' ? 0 : path.split('/').length - 2 + (endsInSlash ? 1 : 0)
  return depth === 0 ? './' : '../'.repeat(depth)
}
