"""Every category of articulated objects, and which ones training never sees."""

from __future__ import annotations

import zlib

from training.data.articulated import appliances, boxes, controls, doors, furniture, moving, tools, vessels
from training.data.articulated.source import ArticulatedSource, Builder

CATEGORIES: dict[str, Builder] = {
    "balance": moving.scale_balance,
    "barrier": moving.barrier_gate,
    "bench": furniture.storage_bench,
    "bottle": vessels.bottle,
    "box": boxes.box_with_lid,
    "briefcase": boxes.briefcase,
    "bucket": vessels.bucket,
    "button_box": controls.button_box,
    "cabinet": furniture.cabinet,
    "carton": boxes.carton,
    "chain": tools.chain,
    "clip": tools.clothespin,
    "clip_jar": vessels.drum_lid_jar,
    "clock": moving.clock,
    "coffee_machine": appliances.coffee_machine,
    "desk": furniture.desk,
    "desk_lamp": moving.desk_lamp,
    "dial_panel": controls.dial_panel,
    "dishwasher": appliances.dishwasher,
    "drawers": furniture.chest_of_drawers,
    "eyeglasses": tools.eyeglasses,
    "fan": moving.fan,
    "faucet": controls.faucet,
    "folding_chair": moving.folding_chair,
    "folding_rule": tools.multi_ruler,
    "fridge": appliances.fridge,
    "gate": doors.gate,
    "globe": moving.globe,
    "handle_press": controls.handle_press,
    "hole_punch": tools.hole_punch,
    "joystick": controls.joystick,
    "kettle": vessels.kettle,
    "laptop": boxes.laptop,
    "lever": controls.lever,
    "light_switch": controls.light_switch,
    "lighter": boxes.lighter,
    "louver": appliances.vent_louver,
    "lock": doors.lock,
    "mailbox": boxes.mailbox,
    "microwave": appliances.microwave,
    "mixer": appliances.blender,
    "mug": vessels.beer_mug,
    "office_chair": moving.office_chair,
    "oven": appliances.oven,
    "pedal": controls.pedal,
    "pliers": tools.pliers,
    "pocket_knife": tools.pocket_knife,
    "pot": vessels.pot,
    "printer": appliances.printer,
    "record_player": moving.stereo,
    "remote_control": boxes.remote_control,
    "room_door": doors.room_door,
    "safe": furniture.safe,
    "scissors": tools.scissors,
    "soap_dispenser": boxes.soap_dispenser,
    "stapler": tools.stapler,
    "suitcase": boxes.suitcase_trolley,
    "sunshade": moving.sunshade,
    "toaster": appliances.toaster,
    "tongs": tools.tongs,
    "tool_cart": moving.tool_cart,
    "toy_car": moving.wheelbarrow,
    "trash_can": boxes.trash_can,
    "tray_case": furniture.tray_case,
    "tripod": moving.tripod,
    "trolley": moving.trolley,
    "valve": controls.valve,
    "wardrobe": furniture.wardrobe,
    "washing_machine": appliances.washing_machine,
    "window": furniture.window,
}

HELD_OUT = ("desk_lamp", "stapler", "washing_machine")
"""Kinds that training never sees: a near relative of others, a hinge on a hinge, and a chain."""

HELD_OUT_INSTANCES = range(32)
"""Objects of each category that are kept for judging."""


def articulated_sources(held_out_categories: bool, held_out_instances: bool) -> list[ArticulatedSource]:
    """One source a category; endless objects, or the fixed ones that are kept for judging."""
    names = [name for name in CATEGORIES if (name in HELD_OUT) == held_out_categories]
    fixed = held_out_instances or held_out_categories
    return [
        ArticulatedSource(name, CATEGORIES[name], (zlib.crc32(name.encode()), int(fixed)), HELD_OUT_INSTANCES if fixed else None)
        for name in names
    ]
