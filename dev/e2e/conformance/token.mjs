// Sends recto's token with every request: the suite has no option for it.
import { subscribe } from "node:diagnostics_channel";

const value = `Bearer ${process.env.RECTO_TOKEN}`;
subscribe("undici:request:create", ({ request }) => request.addHeader("authorization", value));
subscribe("http.client.request.created", ({ request }) => request.setHeader("authorization", value));
