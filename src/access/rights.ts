import { AppError, message } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { ISSUED_TOKEN, type NeededTokens } from '../http/describe.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/route.ts';
import type { Matched } from '../http/route-table.ts';
import { isSecret } from '../lib/secret.ts';
import type { Holders } from './holders.ts';

type Passed = undefined | Promise<undefined>;

/** The rules of a route that rights follow from. */
type Demands = Pick<Route, 'tokens' | 'admin' | 'limit' | 'ownToken'>;

interface RightsOptions {
  /** Default: nobody has a token. */
  holders: Holders | undefined;
  /** True if authentication as administrator is possible. */
  adminIsSet: boolean;
  uploadNeedsToken: boolean;
}

const OPEN: NeededTokens = { names: [], optional: true };

export function createRights({ holders, adminIsSet, uploadNeedsToken }: RightsOptions) {
  /** Returns the role that this route requires, or `null` if it is open to everyone. */
  function roleOf({ admin, limit, ownToken }: Demands): 'admin' | 'moderator' | 'upload' | null {
    if (admin === 'or moderator') return 'moderator';
    if (admin === 'always' || (admin === 'once set' && adminIsSet)) return 'admin';
    return limit === 'upload' && uploadNeedsToken && !ownToken ? 'upload' : null;
  }

  function neededBy(demands: Demands): NeededTokens {
    const { tokens = {}, admin } = demands;
    const names = Object.keys(tokens).filter((name) => tokens[name] !== undefined);
    if (names.length > 0) return { names, optional: false };
    const role = roleOf(demands);
    if (admin !== undefined) return { names: ['ADMIN_TOKEN'], optional: role === null };
    return role === null ? OPEN : { names: [ISSUED_TOKEN], optional: false };
  }

  function recogniseToken({ request, context, route }: Exchange, token: string | null): Passed {
    if (!holders || token === null) return;
    if (roleOf(route) !== null) holders.demandCalm(context.peer, token);
    return recogniseHolder(holders, token, context, route.bytes === undefined ? 0 : sizeOf(request));
  }

  function demandRole({ route, context }: Exchange, token: string | null): Passed {
    const role = roleOf(route);
    if (role === null || context.admin || context.holder?.role === role) return;
    const refusal = refusalFor(role === 'upload' ? [ISSUED_TOKEN] : ['ADMIN_TOKEN']);
    if (!holders || token === null) throw refusal;
    return holders.countWrong(context.peer).then(() => {
      throw refusal;
    });
  }

  /** The route checks a token from the body later, when it reads the form. */
  const isInBody = ({ dialect, token }: Exchange) => dialect?.tokenInBody === true && token === null;

  return {
    /** Returns of which tokens a route needs one. */
    neededBy,

    /**
     * Returns the step that throws or rejects with `unauthorized` if the caller may not use the route; `null`: all may.
     */
    guardOf(route: Matched): ((exchange: Exchange) => Passed) | null {
      if (neededBy(route).optional) return null;
      const { tokens = {} } = route;
      const names = Object.keys(tokens);
      if (names.length === 0)
        return (exchange) => (isInBody(exchange) ? undefined : demandRole(exchange, exchange.token));
      const known = Object.values(tokens).map(isSecret);
      return ({ token }) => {
        if (!known.some((isToken) => isToken(token))) throw refusalFor(names);
      };
    },

    /**
     * Identifies the caller. Delete tokens and passwords of proxies are sent in the same way, so an unknown token is
     * not an error yet.
     */
    recognise(exchange: Exchange): Passed {
      if (exchange.authorization === null && exchange.route.dialect === undefined) return;
      if (!isInBody(exchange)) return recogniseToken(exchange, exchange.token);
      exchange.context.judgeToken = async (inBody) => {
        await recogniseToken(exchange, inBody);
        await demandRole(exchange, inBody);
      };
      return;
    },
  };
}

/** Who may use which route. Identifies the caller, and refuses those without the rights that the route declares. */
export type Rights = ReturnType<typeof createRights>;

function refusalFor(names: readonly string[]): AppError {
  const [only] = names;
  const needed =
    only === ISSUED_TOKEN ? '<token>, with a token from the operator' : `<${names.join(' or ')}>`;
  return new AppError(
    'unauthorized',
    message('This needs the header {header}.', { header: `Authorization: Bearer ${needed}` }),
  );
}

async function recogniseHolder(
  holders: Holders,
  brought: string,
  context: RequestContext,
  bytes: number | null,
): Promise<undefined> {
  // Read now, because the address is only available while the connection is open.
  const token = await holders.identify(brought);
  if (token === null) return undefined;
  await holders.charge(token, bytes);
  const { id, role, name } = token;
  context.holder = { id, role, name, countBytes: (more) => holders.countBytes(token, more) };
  return undefined;
}

/** Returns the announced size of a body, or `null` for one that is sent in chunks of unknown number. */
function sizeOf({ headers }: Request): number | null {
  const length = headers.get('content-length');
  return length === null ? null : Number(length) || 0;
}
